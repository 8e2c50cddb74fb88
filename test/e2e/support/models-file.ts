/** The file for Envoy in front of a language model. */

/** Commented out in it. */
const ESTIMATES = /#- match: \{ path: \/v1\/[\s\S]*#typed_metadata_context_namespaces/;

/** With its filter that estimates the tokens of requests. */
export function withEstimates(shipped: string): string {
  return shipped.replace(ESTIMATES, (block) => block.replaceAll(/^( *)#(?! \S)/gm, '$1'));
}
