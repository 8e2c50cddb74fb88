/** The pages of docs/ whose commands run here as they stand, with real proxies. */
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, test } from 'vitest';
import { type PageOptions, prints, runPage } from '../support/page.ts';
import type { ProgramName } from '../support/programs.ts';
import { canSeal } from '../support/sealed-network.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

/** What the reader has: an application, and NGINX with a site. The repository may be in one of the hidden folders. */
const NGINX = `
application &
mkdir .repository; mount --rbind '${REPOSITORY}' .repository
for folder in /run /var/log/nginx /etc/nginx; do mount -t tmpfs tmpfs $folder; done
[ -d '${REPOSITORY}' ] || { mkdir -p '${REPOSITORY}'; mount --rbind .repository '${REPOSITORY}'; }
umount --lazy .repository; rmdir .repository
mv nginx.conf /etc/nginx; cd /etc/nginx
nginx
`;

interface Page extends PageOptions {
  readonly needs: readonly ProgramName[];
  /** In docs/, if the key says more. */
  readonly file?: string;
}

/** What `npm install` of the page puts there. */
const SDK = `ln -s '${REPOSITORY}/node_modules' node_modules`;

const PAGES: Readonly<Record<string, Page>> = {
  'quickstart/nginx.md': { needs: ['nginx'], before: NGINX },
  'quickstart/envoy.md': { needs: ['envoy'], before: 'application &' },
  'quickstart/envoy-ratelimit.md': { needs: ['envoy'], before: 'application &' },
  'quickstart/caddy.md': { needs: ['caddy'], before: 'application & caddy start' },
  'importing.md': { needs: [] },
  'quickstart/kubernetes.md': { needs: [] },
  'quickstart/traefik.md': { needs: [] },
  'quickstart/apisix.md': { needs: [] },
  'quickstart/haproxy.md': { needs: ['haproxy'], before: 'application &' },
  'agents.md with Envoy': { file: 'agents.md', needs: ['envoy'], without: 'caddy', before: SDK },
  'agents.md with Caddy': { file: 'agents.md', needs: ['caddy'], without: 'envoy', before: SDK },
};

describe.each(Object.entries(PAGES))('%s', (name, { needs, file = name, ...options }) => {
  const programs = inject('programs');
  const isRunnable = canSeal && needs.every((program) => programs[program] !== undefined);

  test.skipIf(!isRunnable)(
    'every command works, and prints what the page shows',
    () => {
      const own = Object.fromEntries(needs.map((program) => [program, program]));
      const samples = runPage(file, { programs: own, ...options });
      for (const sample of samples) expect(prints(sample), sample.printed).toBe(true);
    },
    180_000,
  );
});
