/**
 * The two images that ours is made of, from files of this machine. Node's binary is that of the repository. The base has
 * what https://github.com/GoogleContainerTools/distroless lists for `cc`, as far as a gateway uses it.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ImageConfig } from './image-config.ts';

const NODE_PACKAGE = fileURLToPath(
  new URL(
    `../../../../node_modules/node/node_modules/node-linux-${process.arch}/`,
    import.meta.url,
  ),
);
const NONROOT = 65532;
/** Debian 13 has /bin, /lib and /lib64 in /usr. */
const MERGED = ['bin', 'sbin', 'lib', 'lib64'];
const FILES: Readonly<Record<string, string>> = {
  'etc/passwd':
    'root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n' +
    `nonroot:x:${NONROOT}:${NONROOT}:nonroot:/home/nonroot:/sbin/nologin\n`,
  'etc/group': `root:x:0:\nnobody:x:65534:\ntty:x:5:\nstaff:x:50:\nnonroot:x:${NONROOT}:\n`,
  'etc/nsswitch.conf': 'hosts: files dns\n',
  // Container engines put theirs here.
  'etc/hosts': '127.0.0.1 localhost\n::1 localhost\n',
  'etc/resolv.conf': '',
};
/** Of the Debian packages libc6, libstdc++6 and libgcc-s1. */
const IN_BASE = /\/(ld-linux-[\w-]+|lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s))\.so/;
const COPIED = ['etc/ssl/certs/ca-certificates.crt', 'usr/share/zoneinfo'];

export const BASE_CONFIG: ImageConfig = {
  user: String(NONROOT),
  workdir: '/home/nonroot',
  env: {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    SSL_CERT_FILE: '/etc/ssl/certs/ca-certificates.crt',
  },
  labels: {},
  exposed: [],
  entrypoint: [],
  cmd: [],
  healthcheck: [],
};

/** What we use of the image `node`. */
export function fillNodeImage(root: string): void {
  const local = join(root, 'usr/local');
  mkdirSync(join(local, 'bin'), { recursive: true });
  copyFileSync(join(NODE_PACKAGE, 'bin/node'), join(local, 'bin/node'));
  chmodSync(join(local, 'bin/node'), 0o755);
  copyFileSync(join(NODE_PACKAGE, 'LICENSE'), join(local, 'LICENSE'));
  chmodSync(join(local, 'LICENSE'), 0o644);
}

export function fillBaseImage(root: string): void {
  for (const name of MERGED) {
    mkdirSync(join(root, 'usr', name), { recursive: true });
    symlinkSync(`usr/${name}`, join(root, name));
  }
  for (const name of ['dev', 'proc', 'sys', 'root', 'home/nonroot', 'tmp', 'etc'])
    mkdirSync(join(root, name), { recursive: true });
  chmodSync(join(root, 'tmp'), 0o1777);
  chmodSync(join(root, 'root'), 0o700);
  if (process.getuid?.() === 0) chownSync(join(root, 'home/nonroot'), NONROOT, NONROOT);
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(root, name), text);
  for (const name of COPIED) {
    if (!existsSync(`/${name}`)) continue;
    mkdirSync(dirname(join(root, name)), { recursive: true });
    cpSync(realpathSync(`/${name}`), join(root, name), { recursive: true, verbatimSymlinks: true });
  }
  for (const library of librariesOf(join(NODE_PACKAGE, 'bin/node'))) {
    if (!IN_BASE.test(library)) throw new Error(`the base image has no ${library}`);
    const target = join(root, 'usr', library.replace(/^\/usr/, ''));
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(library, target);
    chmodSync(target, 0o755);
  }
}

/** The shared libraries that a program loads, and the program that loads them. */
function librariesOf(program: string): string[] {
  const output = execFileSync('ldd', [program], { encoding: 'utf8' });
  return [...output.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map(([, path = '']) => path);
}
