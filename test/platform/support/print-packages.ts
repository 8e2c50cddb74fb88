/** Loaded before headgate (`node --import`), prints at the end which packages were loaded, as a line of JSON. */
import { registerHooks } from 'node:module';

const packages = new Set<string>();
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(found.url) ?? [];
    if (name !== undefined) packages.add(name);
    return found;
  },
});
process.on('exit', () => {
  // Node loads its own fetch only when something uses it, or reads all that node:http exports.
  const { moduleLoadList } = process as unknown as { readonly moduleLoadList: readonly string[] };
  if (moduleLoadList.some((name) => name.includes('undici'))) packages.add('undici');
  process.stderr.write(`\n${JSON.stringify({ packages: [...packages].sort() })}\n`);
});
