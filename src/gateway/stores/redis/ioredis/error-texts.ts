/** Recognizes errors that ioredis makes itself. They have no code, so their texts decide. */

/** ioredis could not decode a reply. */
export function isUndecodable({ message }: Error): boolean {
  return message.endsWith('. Please report this.');
}

/** The server has fewer databases than the number in the URL. ioredis would continue with the first one. */
export function isUnknownDatabase({ message }: Error): boolean {
  return message.includes('DB index');
}

/** A reply came without a command, so later replies may be assigned to the wrong commands. */
export function isOutOfStep({ message }: Error): boolean {
  return message.startsWith('Command queue state error');
}
