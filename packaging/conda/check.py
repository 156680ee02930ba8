#!/usr/bin/env python3
"""Renders the conda recipe with rattler-build for both processors, then builds its package with this machine's compilers and libraries
in place of conda-forge's, and runs the recipe's tests on it. Needs py-rattler-build.

    check.py RECIPE FOLDER
"""
import sys
from pathlib import Path

import rattler_build as rattler

VARIANTS = {"c_compiler": ["gcc"], "cxx_compiler": ["gxx"], "c_stdlib": ["sysroot"], "c_stdlib_version": ["2.28"]}


def render(recipe):
    for platform in ("linux-64", "linux-aarch64"):
        config = rattler.RenderConfig(platform=rattler.PlatformConfig(target_platform=platform))
        rendered = recipe.render(rattler.VariantConfig(VARIANTS), config)
        if len(rendered) != 1 or not rendered[0].recipe.requirements.build:
            raise SystemExit(f"{platform}: {len(rendered)} packages, or no compiler")


def empty_channel(folder):
    for platform in ("noarch", "linux-64"):
        (folder / platform).mkdir(parents=True, exist_ok=True)
        (folder / platform / "repodata.json").write_text(f'{{"info": {{"subdir": "{platform}"}}, "packages": {{}}, "packages.conda": {{}}}}')
    return folder.as_uri()


def main():
    recipe, folder = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
    stage = rattler.Stage0Recipe.from_file(recipe)
    render(stage)
    words = {**stage.to_dict(), "requirements": {}}
    here = rattler.Stage0Recipe.from_dict(words, recipe_dir=recipe.parent)
    tools = rattler.ToolConfiguration(test_strategy="native")
    built = here.run_build(tool_config=tools, output_dir=folder / "output", channels=[empty_channel(folder / "channel")],
                           env_isolation=rattler.EnvironmentIsolation.NONE)
    print(*(path for result in built for path in result.packages))


if __name__ == "__main__":
    main()
