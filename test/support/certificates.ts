/** Certificates of an authority that nobody else trusts, made by openssl. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

export interface Authority {
  /** Its certificate, in PEM. */
  readonly caFile: string;
  /** Writes `NAME.crt` and `NAME.key`. By default they are for the names of this machine. */
  issue(name: string, altNames?: string): IssuedFiles;
}

export interface IssuedFiles {
  readonly certificate: string;
  readonly key: string;
}

/** Writes its certificate into the folder: `ca.crt`, or another name. */
export function createAuthority(folder: string, ca = 'ca'): Authority {
  const create = (name: string, subject: string, ...args: string[]) =>
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-days', '1', '-subj', `/CN=${subject}`],
        // Elliptic curves, because making RSA keys takes long.
        ...['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc'],
        ...['-keyout', `${name}.key`, '-out', `${name}.crt`, ...args],
      ],
      { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
    );
  create(ca, 'headgate tests');
  return {
    caFile: join(folder, `${ca}.crt`),
    issue(name, altNames = 'IP:127.0.0.1,DNS:localhost') {
      create(
        name,
        'localhost',
        ...['-CA', `${ca}.crt`, '-CAkey', `${ca}.key`],
        ...['-addext', `subjectAltName=${altNames}`],
        ...['-addext', 'basicConstraints=critical,CA:FALSE'],
      );
      return { certificate: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) };
    },
  };
}
