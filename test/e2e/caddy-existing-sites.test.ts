/** Caddyfiles as people have them, with the check in various places: Caddy accepts them, and headgate doctor finds nothing. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, inject, test } from 'vitest';
import { examineProxyFile } from '../../src/cli/proxy-files/read/examine-files.ts';
import { readEnvironment } from '../../src/gateway/config/settings/environment.ts';
import { findProgram } from '../support/programs.ts';
import { validFile } from '../support/proxy-config.ts';
import { type CaddyProgram, writeCaddySite } from './support/caddy-site.ts';

const POLICIES = `
version: 1
identity: { sources: [ip] }
default: { limits: [99/1h] }
policies:
  - { name: login, match: { method: POST, path: /api/auth/login }, limits: [9/1h] }
  - { name: search, match: { path: /search }, limits: [9/1h] }
`;

const SITES: Readonly<Record<string, string>> = {
  'a single application': 'example.com {\n\timport headgate\n\treverse_proxy localhost:3000\n}',
  'a page and its API': `
example.com {
	import headgate
	encode zstd gzip
	root * /srv/app
	handle /api/* {
		reverse_proxy 127.0.0.1:3000
	}
	handle {
		try_files {path} /index.html
		file_server
	}
	log {
		output file /dev/null
		format json
	}
}`,
  'PHP with a front controller': `
example.com, www.example.com {
	root * /var/www/html
	import headgate
	@static {
		path *.css *.js *.png
		not path /api/*
	}
	header @static Cache-Control max-age=9
	php_fastcgi unix//run/php/php-fpm.sock {
		env APP_ENV production
		root /var/www/html
	}
	file_server
	tls internal
}`,
  'hosts below a wildcard': `
*.example.com {
	tls internal
	import headgate
	@one host one.example.com
	handle @one {
		reverse_proxy one:3000
	}
	@two host two.example.com
	handle @two {
		root * /srv/two
		file_server
	}
	handle {
		abort
	}
}`,
  'snippets with arguments': `
(proxied) {
	import headgate
	reverse_proxy {args.0} {
		header_up X-Real-IP {remote_host}
		lb_policy least_conn
		health_uri /healthz
	}
}
(secure) {
	header {
		Strict-Transport-Security "max-age=31536000; includeSubDomains"
		X-Content-Type-Options nosniff
		-Server
	}
}
a.example.com {
	import secure
	import proxied 127.0.0.1:3001
}
b.example.com {
	import secure
	import proxied "127.0.0.1:3002 127.0.0.1:3003"
}`,
  'many handlers': `
example.com {
	import headgate
	@health {
		path /health /ready
		method GET HEAD
	}
	respond @health "ok" 200
	redir /old /new permanent
	@cached {
		query cached=*
		header Accept *json*
	}
	header @cached Cache-Control "public, max-age=60"
	@internal expression {http.request.uri.query}.contains("internal") || {http.request.method} == "TRACE"
	respond @internal 403
	map {host} {backend} {
		example.com main
		default other
	}
	vars tenant {http.request.host}
	templates /pages/*
	request_body {
		max_size 10MB
	}
	handle_path /grafana/* {
		reverse_proxy 127.0.0.1:3001
	}
	route /legacy/* {
		uri strip_prefix /legacy
		reverse_proxy 127.0.0.1:3002
	}
	@websockets {
		header Connection *Upgrade*
		header Upgrade websocket
	}
	reverse_proxy @websockets 127.0.0.1:3003
	reverse_proxy /files/* https://files.example.net {
		header_up Host {upstream_hostport}
		flush_interval -1
		transport http {
			tls_server_name files.example.net
		}
	}
	reverse_proxy h2c://127.0.0.1:3004
	handle_errors {
		@missing expression {http.error.status_code} == 404
		rewrite @missing /404.html
		file_server
	}
}`,
  'the check in a route, before passwords': `
example.com {
	route {
		import headgate
		basicauth * {
			a-user $2b$04$abcdefghijklmnopqrstuuyvPXIbu7xe6/CED2DzX8z6Si09MlzlW
		}
		reverse_proxy 127.0.0.1:3000
	}
}`,
  'the check in two blocks': `
example.com {
	handle /api/* {
		import headgate
		reverse_proxy 127.0.0.1:3000
	}
	handle_path /search* {
		import headgate
		reverse_proxy 127.0.0.1:3005
	}
	handle {
		root * /srv
		file_server browse
	}
}`,
  'single sign-on': `
example.com {
	import headgate
	forward_auth authelia:9091 {
		uri /api/verify?rd=https://login.example.com
		copy_headers Remote-User Remote-Groups
	}
	reverse_proxy 127.0.0.1:3000
}
login.example.com {
	reverse_proxy authelia:9091
}`,
  'several ports, and a redirect': `
http://example.com:8001, http://127.0.0.1:8002 {
	import headgate
	reverse_proxy 127.0.0.1:3000 127.0.0.1:3001 {
		lb_policy round_robin
	}
}
www.example.com {
	redir https://example.com{uri}
}`,
  'both paths checked': `
example.com {
	import headgate_rewritten
	rewrite /old/* /search
	uri /v1/* strip_prefix /v1
	reverse_proxy 127.0.0.1:3000
}`,
  'its own settings of servers': `
example.com {
	import headgate
	import headgate_headers
	reverse_proxy {$APPLICATION:localhost:3000}
}`,
};

const OPTIONS = `{
	import headgate-global.caddy
	email someone@example.com
	order templates before encode
	admin off
	auto_https off
	servers {
		timeouts {
			read_header 5s
		}
	}
	log {
		level ERROR
	}
}
import headgate.caddy
`;

import { CADDIES } from '../support/proxies.ts';

const write = (program: CaddyProgram, caddyfile: string) =>
  writeCaddySite({ program, policies: POLICIES, caddyfile, headgate: 8080, application: 3000 });

async function complaintsOn(file: string) {
  const text = readFileSync(file, 'utf8');
  const settings = readEnvironment({});
  const read = { file, path: file, text, policies: validFile(POLICIES), settings };
  const findings = await examineProxyFile({ ...read, isAccepted: async () => undefined });
  return findings.filter(({ severity }) => severity !== 'fine').map(({ message }) => message);
}

describe.each(CADDIES)('%s', (program) => {
  test.skipIf(inject('programs')[program] === undefined).each(Object.entries(SITES))(
    'accepts %s',
    async (_, site) => {
      const { file, folder } = await write(program, OPTIONS + site);
      const args = ['validate', '--config', file, '--adapter', 'caddyfile'];
      const home = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
      const env = { ...process.env, ...home };
      const run = spawnSync(findProgram(program) ?? '', args, { encoding: 'utf8', env });
      expect(run.stdout + run.stderr).toContain('Valid configuration');
    },
  );
});

test.each(Object.entries(SITES))('headgate doctor finds nothing in %s', async (_, site) => {
  const { file } = await write('caddy', OPTIONS + site);
  expect(await complaintsOn(file)).toEqual([]);
});
