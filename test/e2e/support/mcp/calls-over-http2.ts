import { connect } from 'node:http2';
import type { SpelledCall } from './call-spellings.ts';

/** Over an own connection, since some spellings end it. Resolves to undefined without an answer, or if Node sends no such header. */
export function statusOverHttp2(
  url: string,
  { method, target, lines, body }: SpelledCall,
  index: number,
): Promise<number | undefined> {
  return new Promise((resolve) => {
    const session = connect(url);
    const end = (status?: number) => {
      resolve(status);
      session.destroy();
    };
    session.on('error', () => end()).on('close', () => end());
    try {
      const line = { ':method': method, ':path': target, 'x-index': String(index) };
      const stream = session.request({ ...line, ...fieldsOf(lines) });
      stream.on('response', (answer) => end(answer[':status']));
      stream.on('error', () => end()).on('close', () => end());
      stream.end(Buffer.from(body, 'latin1'));
    } catch {
      end();
    }
  });
}

function fieldsOf(lines: readonly string[]): Record<string, string[]> {
  const fields: Record<string, string[]> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    fields[name] = [...(fields[name] ?? []), line.slice(colon + 1).replace(/^ /, '')];
  }
  return fields;
}
