/** The file that keeps the last good configuration, so that a gateway has limits when it starts without control plane. */
import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { readText } from '../../config/text-file.ts';
import { parsedJson } from '../../core/parsed-json.ts';
import type { RuleFile } from '../rules/rule.ts';
import type { Configuration } from './discovery.ts';

/** Goes up when the document changes so that older gateways must not read it. */
const FORMAT = 1;
/** The operator alone: values of descriptors may be addresses or names of customers. */
const MODE = 0o600;

/** Throws an Error, whose message says why there is no configuration in the file. */
export function readLastGood(path: string): Configuration {
  const found: unknown = parsedJson(readText(path));
  if (!isObject(found)) throw new Error(`${path} is no document of headgate`);
  if (found.format !== FORMAT) throw new Error(`${path} has another format than ${FORMAT}`);
  const { version, files } = found;
  if (typeof version !== 'string' || !Array.isArray(files) || !files.every(isRuleFile)) {
    throw new Error(`${path} is incomplete`);
  }
  return { version, files };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isRuleFile(value: unknown): value is RuleFile {
  return isObject(value) && typeof value.name === 'string' && isObject(value.value);
}

/** The returned function writes the newest configuration, one write at a time. */
export function lastGoodWriter(
  path: string,
  onFailure: (error: Error) => void,
): (configuration: Configuration) => void {
  let written = '';
  let wanted = '';
  let isWriting = false;

  const writeAll = async () => {
    if (isWriting) return;
    isWriting = true;
    while (written !== wanted) {
      const text = wanted;
      await replace(path, text).catch(onFailure);
      // A failed one is not tried again: the next configuration will be.
      written = text;
    }
    isWriting = false;
  };
  return ({ version, files }) => {
    wanted = JSON.stringify({ format: FORMAT, version, files });
    void writeAll();
  };
}

/** A crash leaves the old file or the new one. The name cannot be foreseen, so nobody can place a link there. */
async function replace(path: string, text: string): Promise<void> {
  const scratch = `${path}.${randomUUID()}.new`;
  try {
    const file = await open(scratch, 'wx', MODE);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(scratch, path);
  } catch (error) {
    await rm(scratch, { force: true });
    throw error;
  }
}
