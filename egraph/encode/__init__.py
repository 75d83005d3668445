"""Terms and rules as egglog text, and a saturated e-graph back as typed terms."""
