"""Hooks of MkDocs: the manual pages, CONTRIBUTING and CHANGELOG become pages of the site without a copy in docs/."""
import re
import subprocess
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"engineers/contributing.md": "CONTRIBUTING.md", "engineers/changelog.md": "CHANGELOG.md"}


def manual(path):
    """A manual page as HTML inside Markdown; its sections get headings that search and contents find."""
    html = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", str(path)], check=True, capture_output=True, text=True).stdout
    html = re.sub(r'(?s)<table class="head">.*?</table>|<table class="foot">.*?</table>', "", html)
    for level, section in ((1, "Sh"), (2, "Ss")):
        html = re.sub(rf'(?s)<h{level} class="{section}".*?>(?:<a[^>]*>)?(.*?)(?:</a>)?</h{level}>',
                      lambda heading: f"\n\n#{'#' * level} {' '.join(heading.group(1).split()).capitalize()}\n\n", html)
    html = re.sub(r"(?s)<pre>(.*?)</pre>",   # its lines are there without breaks
                  lambda block: f"<pre><code>{block.group(1)}</code></pre>".replace("<br/>\n", ""), html)
    html = re.sub(r"</?section[^>]*>|<div class=\"manual-text\">|</div>", "", html)
    html = re.sub(r"\n{3,}", "\n\n", html)
    return f"# {path.stem}({path.suffix[1:]})\n\n{html}"


def on_files(files, config):
    for path in sorted((ROOT / "docs/man").glob("*.[0-9]")):
        files.append(File.generated(config, f"reference/{path.name}.md", content=manual(path)))
    for page, source in PAGES.items():
        text = (ROOT / source).read_text().replace("](docs/", "](../")
        files.append(File.generated(config, page, content=text))
    return files


def on_post_page(output, page, config):
    """A page that needs another host can't be read without a network, whatever a theme adds to it."""
    if fetched := re.search(r'<(?:script|img|link rel="stylesheet")[^>]* (?:src|href)="(?:https?:)?//[^"]*', output):
        raise PluginError(f"{page.file.src_uri} fetches from another host: {fetched.group(0)}")
    return output
