const LOCAL_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1?\]|0\.0\.0\.0|\*|)$/;
const UNIX = /^unix(?:\+h2c)?[:/@](?:\/\/)?/;
const ADDRESS =
  /^(?:(?<own>[a-z0-9]+):\/\/)?(?<host>\[[^\]]*\]|[^:/]*)(?::(?<port>[^/]*))?(?:\/|$)/;

/** Returns `127.0.0.1:80` of `http://localhost/` or `:80`, `unix:/run/app.sock`, or an unknown form as it is written. */
export function addressOf(written: string, scheme = 'http'): string {
  if (UNIX.test(written)) return written.replace(UNIX, 'unix:').replace(/(?<=.):$/, '');
  const { own = scheme, host = '', port } = ADDRESS.exec(written.toLowerCase())?.groups ?? {};
  if (/[{$@]/.test(written)) return written;
  const plain = LOCAL_HOST.test(host) ? '127.0.0.1' : host.replace(/\.$/, '');
  return `${plain}:${port || (/s$/.test(own) ? '443' : '80')}`;
}
