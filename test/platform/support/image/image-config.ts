/** What a container of an image starts with: the configuration that the last stage of a Dockerfile gives it. */
import { pairsOf, type Stage } from './dockerfile.ts';

export interface ImageConfig {
  readonly user: string;
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly exposed: readonly string[];
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly healthcheck: readonly string[];
}

/** `base`: what the image of FROM sets. */
export function configOf({ instructions }: Stage, base: ImageConfig): ImageConfig {
  const textsOf = (name: string) =>
    instructions.filter((each) => each.name === name).map(({ text }) => text);
  const last = (name: string) => textsOf(name).at(-1);
  const pairs = (name: string) => Object.assign({}, ...textsOf(name).map(pairsOf));
  return {
    user: last('USER') ?? base.user,
    workdir: last('WORKDIR') ?? base.workdir,
    env: { ...base.env, ...pairs('ENV') },
    labels: { ...base.labels, ...pairs('LABEL') },
    exposed: textsOf('EXPOSE').flatMap((text) => text.split(/\s+/)),
    entrypoint: words(last('ENTRYPOINT')) ?? base.entrypoint,
    cmd: words(last('CMD')) ?? base.cmd,
    healthcheck: words(last('HEALTHCHECK')?.replace(/^CMD\s+/, '')) ?? base.healthcheck,
  };
}

/** In exec form: a JSON list. The shell form would need a shell. */
function words(text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined;
  if (!text.startsWith('[')) throw new Error(`Dockerfile: "${text}" needs a shell`);
  return JSON.parse(text);
}
