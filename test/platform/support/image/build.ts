/** Builds the root file system of the image as the Dockerfile says, with bubblewrap in place of a container engine. */
import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { BASE_CONFIG, fillBaseImage, fillNodeImage } from './base-image.ts';
import { copyInto } from './copy-into.ts';
import { readDockerfile, type Stage } from './dockerfile.ts';
import { configOf, type ImageConfig } from './image-config.ts';
import { runIn } from './run-in.ts';

const DOCKERFILE = new URL('../../../../Dockerfile', import.meta.url);

export interface Image {
  /** Its root file system. */
  readonly root: string;
  readonly config: ImageConfig;
}

export interface BuiltStage {
  readonly name: string | undefined;
  readonly root: string;
}

/** `scratch`: an empty folder. The image needs it as long as it is used. */
export function buildImage(scratch: string, buildArgs?: Readonly<Record<string, string>>): Image {
  const stages = readDockerfile(readFileSync(DOCKERFILE, 'utf8'), buildArgs);
  // The user of the image must be able to reach it.
  chmodSync(scratch, 0o755);
  const built: BuiltStage[] = [];
  for (const stage of stages) {
    const root = join(scratch, String(built.length));
    build(stage, root, built);
    built.push({ name: stage.name, root });
  }
  const last = stages.at(-1);
  if (last === undefined) throw new Error('Dockerfile: no FROM');
  return { root: built.at(-1)?.root ?? '', config: configOf(last, BASE_CONFIG) };
}

function build({ from, instructions }: Stage, root: string, built: readonly BuiltStage[]): void {
  mkdirSync(root);
  fill(root, from);
  let workdir = '/';
  for (const instruction of instructions) {
    if (instruction.name === 'WORKDIR') {
      workdir = resolve(workdir, instruction.text);
      mkdirSync(join(root, workdir), { recursive: true });
    }
    if (instruction.name === 'COPY') copyInto({ root, workdir }, instruction, built);
    if (instruction.name === 'RUN') runIn({ root, workdir }, instruction.text);
  }
}

function fill(root: string, image: string): void {
  if (/^node:[\d.]+-bookworm-slim$/.test(image)) fillNodeImage(root);
  else if (/^gcr\.io\/distroless\/cc-debian\d+:nonroot$/.test(image)) fillBaseImage(root);
  else throw new Error(`Dockerfile: the tests do not know the image ${image}`);
}
