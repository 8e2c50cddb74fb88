/** The remedy for parts of another policy file or another version of headgate. */
export const PRINT_AGAIN =
  "Print the proxy's file again as you made it, and reload the proxy: `headgate proxy-config NAME --policies FILE`, with `--include PLACE` for each part that your file includes.";
