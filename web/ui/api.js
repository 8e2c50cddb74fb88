// @ts-check
/** Calls the ops API. The token is in memory, or in the session storage of this tab, and goes into one header alone. */

const API = new URL('../v1/', import.meta.url);
const TOKEN = 'headgate-token';
/** A gateway that takes longer to answer is as good as gone. */
const ANSWERS_WITHIN_MS = 10_000;

let token = sessionStorage.getItem(TOKEN) ?? undefined;

/** A call that was not done. `code` is `gone` if nothing answered, otherwise the error word of the API. */
export class CallError extends Error {
  /** @param {string} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** @param {string} text @param {boolean} isKept */
export function signIn(text, isKept) {
  token = text;
  if (isKept) sessionStorage.setItem(TOKEN, text);
}

export function signOut() {
  token = undefined;
  sessionStorage.removeItem(TOKEN);
}

export function isSignedIn() {
  return token !== undefined;
}

/**
 * Rejects with a CallError.
 * @template T
 * @param {'GET' | 'POST' | 'PUT' | 'DELETE'} method
 * @param {string} path below `/v1/`
 * @param {object} [body]
 * @returns {Promise<T>}
 */
export async function call(method, path, body) {
  const { status, json } = await send(method, path, body);
  if (status === 200 && json !== undefined) return json;
  throw new CallError(
    json?.error ?? 'unknown',
    json?.message ?? `The gateway answered with status ${status}.`,
  );
}

/** @param {string} method @param {string} path @param {object | undefined} body */
async function send(method, path, body) {
  try {
    const answer = await fetch(new URL(path, API), {
      method,
      headers: {
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
    });
    const text = await answer.text();
    return { status: answer.status, json: jsonIn(text) };
  } catch {
    throw new CallError('gone', 'The gateway does not answer.');
  }
}

/** @param {string} text */
function jsonIn(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
