"""Files that are generated: written, or with --check only compared with what is there."""
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def checking():
    return "--check" in sys.argv


def write_or_check(files, maker, also=()):
    """Writes {path: text}; with --check says which of them `maker` would change, after the troubles of `also`. The exit status."""
    troubles = list(also)
    for path, text in files.items():
        if not checking():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.is_file() or path.read_text() != text:
            troubles.append(f"{path.relative_to(ROOT)} is not what {maker} makes: run `make docs`")
    print("\n".join(troubles) if troubles else f"the files of {maker} are fresh")
    return 1 if troubles else 0
