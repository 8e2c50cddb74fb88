/** Real NGINX comes to the locations that the model of test/unit/cli/import/never-less.test.ts says. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { call } from '../support/http.ts';
import { everyRequest } from '../support/import-models/model.ts';
import { nginxModel } from '../support/import-models/nginx.ts';
import { freePort } from '../support/ports.ts';
import { runProxy } from '../support/proxies.ts';
import { Random } from '../support/random.ts';
import { rounds } from '../support/short-form.ts';
import { temporaryFolder } from '../support/temporary.ts';

test.skipIf(inject('programs').nginx === undefined)(
  'the model of NGINX chooses the servers and locations that the real one chooses',
  async () => {
    const random = new Random(35);
    const differing: string[] = [];
    const seen = new Set<number>();
    for (let round = 0; round < rounds(20); round++) {
      const model = nginxModel(random);
      await using stack = new AsyncDisposableStack();
      const folder = temporaryFolder(stack);
      const port = await freePort();
      mkdirSync(join(folder, 'logs'));
      const servers = model.named.replaceAll('listen 80', `listen 127.0.0.1:${port}`);
      const file = join(folder, 'nginx.conf');
      const head = `daemon off;\nerror_log stderr crit;\npid "${join(folder, 'pid')}";\nevents {}`;
      writeFileSync(
        file,
        `${head}\nhttp {\naccess_log off;\nroot ${folder}/none;\n${servers}\n}\n`,
      );
      const args = ['-p', folder, '-c', file, '-e', 'stderr'];
      await using nginx = await runProxy('nginx', args, port, folder);
      for (const request of everyRequest().filter(
        ({ isPartner, method }) => isPartner && method === 'GET',
      )) {
        const { host, path } = request;
        const [server, ...locations] = model.wayOf(request);
        const real = await call(nginx.url, path, { headers: { host } });
        const came = real.status === 200 ? real.body : undefined;
        seen.add(locations.length);
        if (came !== locations.at(-1) || real.headers['x-server'] !== server)
          differing.push(
            `${host}${path}: ${real.headers['x-server']} ${came}, and not ${server} ${locations}\n${model.named}`,
          );
      }
    }
    expect(differing).toEqual([]);
    expect([...seen].sort()).toEqual([0, 1, 2]);
  },
);
