"""How the site is made of the documents: `python -m proofs_tests.site build` puts them together and runs Sphinx."""

project = "Relift"
author = "the developers of Relift"
extensions = ["myst_nb"]
html_theme = "furo"
html_title = "Relift"
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
nb_execution_mode = (
    "off"  # what is shown was stored when `python -m proofs_tests.site notebooks` ran them
)
exclude_patterns = ["**/*.py"]
