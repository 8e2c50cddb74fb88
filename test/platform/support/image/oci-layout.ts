/** Writes an image as an OCI image layout, with umoci: what a registry would have of it. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Image } from './build.ts';

export interface OciLayout {
  /** Of the image specification: architecture, os, config. */
  readonly configuration: {
    readonly architecture: string;
    readonly os: string;
    readonly config: Readonly<Record<string, unknown>>;
  };
  /** What is downloaded. */
  readonly compressedBytes: number;
}

/** `folder`: a path at which nothing is. */
export function writeOciLayout({ root, config }: Image, folder: string): OciLayout {
  const image = `${folder}:test`;
  const pairs = (option: string, record: Readonly<Record<string, string>>) =>
    Object.entries(record).flatMap(([key, value]) => [option, `${key}=${value}`]);
  const each = (option: string, values: readonly string[]) =>
    values.flatMap((value) => [option, value]);
  umoci('init', '--layout', folder);
  umoci('new', '--image', image);
  umoci('insert', ...(process.getuid?.() === 0 ? [] : ['--rootless']), '--image', image, root, '/');
  umoci(
    ...['config', '--image', image, '--config.user', config.user],
    ...['--config.workingdir', config.workdir, '--no-history'],
    ...each('--config.entrypoint', config.entrypoint),
    ...each('--config.cmd', config.cmd),
    ...each('--config.exposedports', config.exposed),
    ...pairs('--config.env', config.env),
    ...pairs('--config.label', config.labels),
  );
  const blob = (digest: string) =>
    JSON.parse(readFileSync(join(folder, 'blobs', digest.replace(':', '/')), 'utf8'));
  const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'));
  const manifest = blob(index.manifests[0].digest);
  return {
    configuration: blob(manifest.config.digest),
    compressedBytes: manifest.layers.reduce((sum: number, { size }: Layer) => sum + size, 0),
  };
}

interface Layer {
  readonly size: number;
}

function umoci(...args: string[]): void {
  execFileSync('umoci', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
