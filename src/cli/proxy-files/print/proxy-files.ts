import { posix } from 'node:path';
import { type Address, hostAndPort } from '../proxy-address.ts';
import {
  type ProxyConfigInput,
  proxyConfig,
  SHIPPED_PORT,
  templateText,
  writerOf,
} from './proxy-config.ts';
import type { Edits, FileEdits, Front, Include, Writer } from './writer.ts';

export interface ProxyFilesInput extends Omit<ProxyConfigInput, 'include'> {
  readonly port: number;
  readonly front: Front | undefined;
}

export interface ProxyFile {
  readonly name: string;
  readonly text: string;
}

export function proxyFileNames(proxy: string): string[] {
  const { file, besides = [] } = writerOf(proxy);
  return [file, ...besides].map((path) => posix.basename(path));
}

/** Returns files for one folder, the main one first. Throws like `proxyConfig`. */
export function proxyFiles(input: ProxyFilesInput): ProxyFile[] {
  const writer = writerOf(input.proxy);
  const { file, besides = [] } = writer;
  const edits = editsBehind(input.front, writer);
  const paths = new Set([file, ...besides, ...Object.keys(edits)]);
  return [...paths].map((path) => {
    const text =
      path === file ? proxyConfig({ ...input, include: false }).text : templateText(path, input);
    const named = withAddressesInHead(edited(text, edits[path] ?? {}), input);
    return { name: posix.basename(path), text: named };
  });
}

function editsBehind(front: Front | undefined, writer: Writer): FileEdits {
  if (front === undefined) return {};
  if (front.kind === 'cloudflare') return writer.cloudflare ?? {};
  return writer.loadBalancer?.(front.networks) ?? {};
}

/** The comment at the start of a shipped file shows its addresses, and says to change them. */
function withAddressesInHead(
  text: string,
  { port, application, gateway }: ProxyFilesInput,
): string {
  const end = /^(?!#)/m.exec(text)?.index ?? 0;
  const shown = (address: Address | undefined, shipped: string) =>
    (address && hostAndPort(address)) ?? shipped;
  const head = text
    .slice(0, end)
    .replace('# Change three addresses:', '# The three addresses:')
    .replace(`:${SHIPPED_PORT} ->`, `:${port} ->`)
    .replace('application :3000', `application ${shown(application, ':3000')}`)
    .replace(/headgate (:808[01])/, (_, shipped) => `headgate ${shown(gateway, shipped)}`);
  return head + text.slice(end);
}

export interface PartFile extends ProxyFile {
  /** Undefined if the parts of the file are put in by hand. */
  readonly include: Include | undefined;
}

/** Returns files with parts for a configuration that exists. Throws like `proxyConfig`. */
export function partFiles(input: Omit<ProxyConfigInput, 'include'>): PartFile[] {
  const { file, includes, besides = [] } = writerOf(input.proxy);
  const part = (name: string, wanted: true | string, include?: Include): PartFile => ({
    name: name.startsWith('headgate') ? name : `headgate-${name}`,
    text: proxyConfig({ ...input, include: wanted }).text,
    include,
  });
  const others = besides.map((path) => posix.basename(path));
  return [
    ...(includes === undefined ? [part(`headgate-parts${posix.extname(file)}`, true)] : []),
    ...(includes ?? []).flatMap((each) =>
      each.file === undefined ? [] : [part(each.file, each.place, each)],
    ),
    ...others.map((name) => part(name, name)),
  ];
}

function edited(text: string, edits: Edits): string {
  return Object.entries(edits).reduce((current, [shipped, written]) => {
    if (!current.includes(shipped)) throw new Error(`the file must have "${shipped}"`);
    return current.replaceAll(shipped, () => written);
  }, text);
}
