"""Sphinx configuration of the site, which `make docs` builds."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "jettison"
author = "The jettison developers"
project_copyright = "the jettison developers"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "myst_nb",
    "sphinx_copybutton",
    "site_pages.extension",
]
exclude_patterns = ["_build", "site_pages"]

# Names that are no targets become code; `site_pages.name_links` looks for those of jettison.
default_role = "py:obj"
nitpicky = True
# Two hyphens begin an option, and are no dash.
smartquotes = False
# Other packages are not linked: their inventories would have to be fetched.
nitpick_ignore_regex = [(r"py:.*", r"(?!jettison\.).*")]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_use_rtype = False

# Notebooks are shown with their stored outputs; the tests execute them.
nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

html_theme = "furo"
html_title = "jettison"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "default"
pygments_dark_style = "monokai"
mathjax3_config = {
    "svg": {"fontCache": "global"},
    "options": {"enableMenu": False},
}
