/** Reads a Dockerfile, with as much of its language as ours uses. Throws an Error for anything else. */

export interface Instruction {
  readonly name: string;
  /** `--from=build` is `from: 'build'`. */
  readonly flags: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface Stage {
  readonly name: string | undefined;
  /** A stage, or an image. */
  readonly from: string;
  /** Their variables are replaced, except those of RUN, which the shell replaces. */
  readonly instructions: readonly Instruction[];
}

const KNOWN = 'FROM ARG WORKDIR COPY RUN LABEL ENV USER EXPOSE HEALTHCHECK ENTRYPOINT CMD'.split(
  ' ',
);
/** What BuildKit sets by itself. */
const AUTOMATIC = { BUILDPLATFORM: 'linux/amd64' };

/** `args`: values of `--build-arg`. */
export function readDockerfile(text: string, args: Readonly<Record<string, string>> = {}): Stage[] {
  const global: Record<string, string> = {};
  const stages: (Stage & { readonly instructions: Instruction[] })[] = [];
  let scope: Record<string, string> = {};
  for (const { name, flags, text: raw } of instructionsOf(text)) {
    const stage = stages.at(-1);
    const variables = stage === undefined || name === 'FROM' ? { ...AUTOMATIC, ...global } : scope;
    const expanded = name === 'RUN' ? raw : expand(raw, variables);
    if (name === 'FROM') {
      const [from = '', , as] = expanded.split(/\s+/);
      stages.push({ name: as, from, instructions: [] });
      scope = {};
    } else if (name === 'ARG') {
      const [key = '', value] = expanded.split(/=(.*)/s);
      (stage === undefined ? global : scope)[key] = args[key] ?? value ?? global[key] ?? '';
    } else {
      if (name === 'ENV') Object.assign(scope, pairsOf(expanded));
      stage?.instructions.push({ name, flags, text: expanded });
    }
  }
  return stages;
}

function instructionsOf(text: string): Instruction[] {
  const lines = text
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line))
    .join('\n')
    .replaceAll(/\\\n/g, ' ')
    .split('\n');
  return lines.map((line) => {
    const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/s.exec(line) ?? [];
    if (!KNOWN.includes(name)) throw new Error(`Dockerfile: no support for "${line}"`);
    const [, leading = ''] = /^((?:--\S+\s+)*)/.exec(rest) ?? [];
    const flags = Object.fromEntries(
      [...leading.matchAll(/--([\w-]+)=(\S+)/g)].map(([, key = '', value = '']) => [key, value]),
    );
    return { name, flags, text: rest.slice(leading.length).trim() };
  });
}

function expand(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\{(\w+)\}|\$(\w+)/g, (_, braced, bare) => {
    const value = variables[braced ?? bare];
    if (value === undefined)
      throw new Error(`Dockerfile: ${braced ?? bare} is not set in "${text}"`);
    return value;
  });
}

/** `A=1 B="two words"` */
export function pairsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))/g)].map(([, key = '', quoted, bare]) => [
      key,
      quoted ?? bare ?? '',
    ]),
  );
}
