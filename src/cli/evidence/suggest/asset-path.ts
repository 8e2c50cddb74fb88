/** Assets: files that a browser loads with a page. Programs often leave them out. */

const ASSET = /\.(?:css|js|mjs|map|png|jpe?g|gif|svg|webp|avif|ico|woff2?|ttf|otf|eot)(?:[?#]|$)/i;

export function isAssetPath(target: string): boolean {
  return ASSET.test(target);
}
