import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FORMATS, formatNamed } from '../../../../../src/cli/evidence/formats/index.ts';
import {
  type LogEntry,
  type LogFormat,
  Misread,
} from '../../../../../src/cli/evidence/formats/log-format.ts';
import { chooseFormat, firstLines } from '../../../../../src/cli/evidence/reading/choose-format.ts';

const OPTIONS = { zone: 'UTC', timeIs: undefined, fields: [] } as const;
const unwrapped = (line: string) => firstLines(Buffer.from(line, 'latin1'))[0] ?? '';
const detected = (line: string) =>
  chooseFormat('auto', [{ name: 'log', lines: [unwrapped(line)] }]);

/** These have the same text, or read it as other columns. */
const ALIKE = ['nginx-combined', 'apache-combined', 'nginx-forwarded', 'apache-forwarded'];

const samples = FORMATS.flatMap((format) =>
  format.samples.map((line): [string, LogFormat, string] => [format.name, format, line]),
);

describe('a sample of', () => {
  test.each(samples)('%s is detected as that format only', (name, _format, line) => {
    expect(detected(line).format.name).toBe(name);
    for (const other of FORMATS) {
      const areAlike = ALIKE.includes(name) && ALIKE.includes(other.name);
      if (other.name === name || areAlike) continue;
      expect(other.compile(OPTIONS)(unwrapped(line)), other.name).toBeInstanceOf(Misread);
    }
  });
  test.each(samples)('%s is a request at the same time', (_name, format, line) => {
    const entry = format.compile(OPTIONS)(unwrapped(line));
    if (entry === undefined) return;
    expect(entry).not.toBeInstanceOf(Misread);
    const { startMs, address } = entry as LogEntry;
    expect(Math.floor(startMs / 60_000)).toBeOneOf([
      Date.UTC(2026, 0, 5, 10, 20) / 60_000,
      Date.UTC(2026, 0, 5, 9, 20) / 60_000,
    ]);
    expect(address).toBe('203.0.113.9');
  });
  test.each(samples)('%s never throws, however it is damaged', (_name, format, line) => {
    const parse = format.compile(OPTIONS);
    for (let end = 0; end < line.length; end++) parse(line.slice(0, end));
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(fc.nat(line.length), fc.nat(3), fc.string({ unit: 'binary', maxLength: 4 })),
        ),
        (cuts) => {
          const damaged = cuts.reduce(
            (text, [at, length, put]) => text.slice(0, at) + put + text.slice(at + length),
            line,
          );
          const made = parse(Buffer.from(damaged).toString('latin1'));
          if (made === undefined || made instanceof Misread) return;
          expect(made.startMs).not.toBeNaN();
          expect(typeof made.method).toBe('string');
          expect(typeof made.target).toBe('string');
        },
      ),
      { numRuns: 100 },
    );
  });
});

test('every format has samples, and its name once', () => {
  for (const { samples: lines } of FORMATS) expect(lines.length).toBeGreaterThan(0);
  expect(new Set(FORMATS.map(({ name }) => name)).size).toBe(FORMATS.length);
});

test.each(FORMATS)('$name never throws on any bytes', (format) => {
  const parse = format.compile(OPTIONS);
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void parse(text)));
  fc.assert(fc.property(fc.json(), (text) => void parse(text)));
});

const entryOf = (name: string, line: string, options = {}) =>
  formatNamed(name).compile({ ...OPTIONS, ...options })(unwrapped(line));
const at = (text: string) => Date.parse(text);

describe('combined', () => {
  const line = (request: string, rest = '200 5 "-" "a"') =>
    `203.0.113.9 - - [05/Jan/2026:10:20:30 +0100] ${request} ${rest}`;
  test('is read whole', () => {
    expect(
      entryOf(
        'nginx-combined',
        line('"GET /a?b=c HTTP/1.1"', '200 5 "-" "curl \\x22x\\x22" "198.51.100.7"'),
      ),
    ).toEqual({
      startMs: at('2026-01-05T09:20:30Z'),
      method: 'GET',
      target: '/a?b=c',
      host: undefined,
      address: '203.0.113.9',
      forwardedFor: '198.51.100.7',
      status: 200,
      userAgent: 'curl "x"',
      fields: [],
    });
  });
  test.each([
    ['"GET /a b HTTP/1.1"', 'GET', '/a b'],
    ['"GET /a"', 'GET', '/a'],
    ['"OPTIONS * HTTP/1.1"', 'OPTIONS', '*'],
    ['"GET http://shop.example/a?b HTTP/1.1"', 'GET', '/a?b'],
    ['"GET http://shop.example?b HTTP/1.1"', 'GET', '/?b'],
    ['"GET /\\xC3\\xA9\\x22 HTTP/1.1"', 'GET', '/\xc3\xa9"'],
    ['"GET /a\\"b\\\\ HTTP/1.1"', 'GET', '/a"b\\'],
    ['"VERSION-CONTROL /x HTTP/1.1"', 'VERSION-CONTROL', '/x'],
  ])('%s', (request, method, target) => {
    expect(entryOf('nginx-combined', line(request))).toMatchObject({ method, target });
  });
  test.each(['""', '"-"', '"\\x16\\x03\\x01"', '"SSH-2.0-Go"', '"\\x03 / HTTP/1.0"'])(
    '%s is no request',
    (request) => {
      expect(entryOf('nginx-combined', line(request))).toBeUndefined();
    },
  );
  test.each([
    ['203.0.113.9 - - [05/Foo/2026:10:20:30 +0000] "GET / HTTP/1.1" 200 5 "-" "a"', 'time_local'],
    ['203.0.113.9 - - [05/Jan/2026:10:20:61 +0000] "GET / HTTP/1.1" 200 5 "-" "a"', 'time_local'],
    ['203.0.113.9 - - [05/Jan/2026:10:20:30 +0000] "GET / HTTP/1.1" 2x0 5 "-" "a"', 'status'],
    [
      '203.0.113.9 - - [05/Jan/2026:10:20:30 +0000] "GET / HTTP/1.1" 200 5 "-" "a',
      'http_user_agent',
    ],
    ['words', 'remote_addr'],
  ])('%s is misread', (text, field) => {
    expect(entryOf('nginx-combined', text)).toMatchObject({ field });
  });
  test('is read alike with and without fields that are asked for, by two parsers', () => {
    const fast = formatNamed('nginx-combined').compile(OPTIONS);
    const slow = formatNamed('nginx-combined').compile({ ...OPTIONS, fields: ['http_referer'] });
    const withoutFields = (made: ReturnType<typeof slow>) =>
      made === undefined || made instanceof Misread ? made : { ...made, fields: [] };
    const piece = fc.oneof(
      fc.constantFrom(
        '203.0.113.9',
        '2001:db8::1',
        'unix:',
        '-',
        ' - ',
        ' ',
        '"',
        '\\',
        '[',
        '] "',
        ' HTTP/1.1',
      ),
      fc.constantFrom(
        '05/Jan/2026:10:20:30 +0000',
        'GET',
        'POST /a',
        '/b c',
        '" 200 ',
        '" 20 ',
        '5 "',
        '" "',
      ),
      fc.string({ maxLength: 3 }),
    );
    const whole = line('"GET /a?b=c HTTP/1.1"', '200 512 "-" "curl"');
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(whole.length), fc.nat(8), piece), { maxLength: 3 }),
        (cuts) => {
          const text = cuts.reduce(
            (before, [place, length, put]) =>
              before.slice(0, place) + put + before.slice(place + length),
            whole,
          );
          expect(withoutFields(fast(text))).toEqual(withoutFields(slow(text)));
        },
      ),
      { numRuns: 5_000 },
    );
  });
  test('says which program it is taken for, and what to do if that is wrong', () => {
    const { format, detected: words } = detected(line('"GET / HTTP/1.1"'));
    expect(format.name).toBe('nginx-combined');
    expect(words).toBe(
      "NGINX, combined (nginx-combined): understands the only line of log; Apache's combined format looks the same. The time of a line is taken for the end of its request; if that is wrong, add --format apache-combined or --time-is start",
    );
  });
  test('may have the host before the address', () => {
    for (const name of ['nginx-combined', 'apache-combined']) {
      const vhost = (host: string) => entryOf(name, `${host} ${line('"GET / HTTP/1.1"')}`);
      expect(vhost('shop.example:443')).toMatchObject({
        host: 'shop.example',
        address: '203.0.113.9',
      });
      expect(vhost('shop.example')).toMatchObject({ host: 'shop.example', address: '203.0.113.9' });
    }
  });
  test('without a request in any line is recognised, too', () => {
    const lines = [line('"\\x16\\x03\\x01"', '400 226 "-" "-"')];
    expect(chooseFormat('auto', [{ name: 'log', lines }]).format.name).toBe('nginx-combined');
  });
  test('of Apache is found by one line that only Apache writes', () => {
    const lines = [line('"GET / HTTP/1.1"'), line('"GET / HTTP/1.1"', '304 - "-" "a"')];
    const { format, detected: words } = chooseFormat('auto', [{ name: 'log', lines }]);
    expect(format.name).toBe('apache-combined');
    expect(words).toContain(
      "NGINX's combined format looks the same, but only Apache writes one of these lines",
    );
  });
});

describe('an NGINX log_format', () => {
  test.each([
    [
      '$remote_addr [$time_local] "$request" $status $request_time',
      '192.0.2.1 [05/Jan/2026:10:20:30 +0000] "GET /a HTTP/1.1" 200 1.250',
      '2026-01-05T10:20:28.750Z',
      '192.0.2.1',
    ],
    [
      '$msec $request_time $remote_addr $request_method $request_uri',
      '1767608430.123 0.100 192.0.2.1 GET /a',
      '2026-01-05T10:20:30.023Z',
      '192.0.2.1',
    ],
    [
      '$time_iso8601 $realip_remote_addr $scheme://$host$request_uri $request',
      '2026-01-05T10:20:30+00:00 192.0.2.1 https://shop.example/a GET /a HTTP/1.1',
      '2026-01-05T10:20:30Z',
      '192.0.2.1',
    ],
    [
      '$time_local|$http_x_forwarded_for|$request',
      '05/Jan/2026:10:20:30 +0000|198.51.100.1, 192.0.2.1|GET /a HTTP/1.1',
      '2026-01-05T10:20:30Z',
      '192.0.2.1',
    ],
    [
      '$time_local $remote_addr $request_method $uri?$args',
      '05/Jan/2026:10:20:30 +0000 192.0.2.1 GET /a?',
      '2026-01-05T10:20:30Z',
      '192.0.2.1',
    ],
    [
      '$upstream_addr $upstream_response_time $remote_addr [$time_local] "$request"',
      '10.0.0.1:80, 10.0.0.2:80 : 10.0.0.3:80 0.1, 0.2 : 0.3 192.0.2.1 [05/Jan/2026:10:20:30 +0000] "GET /a HTTP/1.1"',
      '2026-01-05T10:20:30Z',
      '192.0.2.1',
    ],
    [
      'escape=json {"t":"$time_iso8601","a":"$remote_addr","r":"$request"}',
      '{"t":"2026-01-05T10:20:30+00:00","a":"192.0.2.1","r":"GET /a HTTP/1.1"}',
      '2026-01-05T10:20:30Z',
      '192.0.2.1',
    ],
    [
      "log_format main escape=default '$remote_addr ' '[$time_local] \"$request\"';",
      '192.0.2.1 [05/Jan/2026:10:20:30 +0000] "GET /a HTTP/1.1"',
      '2026-01-05T10:20:30Z',
      '192.0.2.1',
    ],
  ])('%s', (source, line, start, address) => {
    expect(entryOf(source, line)).toMatchObject({
      startMs: at(start),
      method: 'GET',
      target: '/a',
      address,
    });
  });
  test('knows what its time means', () => {
    expect(formatNamed('$msec $request')).toMatchObject({ timeIs: 'end', precisionMs: 1 });
    expect(formatNamed('$time_local $request_time $request')).toMatchObject({
      timeIs: 'start',
      precisionMs: 1000,
    });
  });
  test('gives header fields by name, with $ or without', () => {
    const source = '$msec "$request" "$http_x_api_key"';
    const options = { fields: ['$http_x_api_key', 'http_x_api_key'] };
    expect(entryOf(source, '1767608430.123 "GET / HTTP/1.1" "k\\x221"', options)).toMatchObject({
      fields: ['k"1', 'k"1'],
    });
    expect(entryOf(source, '1767608430.123 "GET / HTTP/1.1" "-"', options)).toMatchObject({
      fields: [undefined, undefined],
    });
  });
  test.each([
    [
      '$remote_addr $request',
      '--format: the log_format has no time; it needs $msec, $time_iso8601 or $time_local',
    ],
    [
      '$msec $status',
      '--format: the log_format has no request; it needs $request, or $request_method and $request_uri',
    ],
    ['$msec$status $request', '--format: nothing stands between $msec and the next variable'],
  ])('%s is refused', (source, message) => {
    expect(() => formatNamed(source)).toThrow(message);
  });
});

describe('--map', () => {
  test('of a text without that field lists those that it has', () => {
    expect(() => entryOf('nginx-combined', '', { fields: ['http_user_agnt'] })).toThrow(
      '--map: lines of nginx-combined have no field "http_user_agnt", did you mean "http_user_agent"?; they have: remote_addr, remote_user, time_local, request, status, body_bytes_sent, http_referer, http_user_agent, http_x_forwarded_for, host_port',
    );
    expect(() => entryOf('haproxy-httplog', '', { fields: ['capture.x.0'] })).toThrow(
      'capture.request.N',
    );
  });
  test.each([
    ['caddy-json', 'request.headers.X-Api-Key', 'k1'],
    ['caddy-json', 'request.headers.User-Agent.0', 'curl/8.5.0'],
    ['caddy-json', 'status', '200'],
    ['caddy-json', 'request.headers', undefined],
    ['caddy-json', 'request.headers.X-Other', undefined],
    ['traefik-json', 'RouterName', 'shop@docker'],
  ])('%s: %s', (name, field, value) => {
    const [line = ''] = formatNamed(name).samples;
    expect(entryOf(name, line, { fields: [field] })).toMatchObject({ fields: [value] });
  });
  test('captures of HAProxy by their place', () => {
    const line = formatNamed('haproxy-httplog').samples[1] ?? '';
    const fields = [
      'capture.request.1',
      'capture.request.0',
      'capture.request.7',
      'capture.response.0',
    ];
    expect(entryOf('haproxy-httplog', line, { fields })).toMatchObject({
      fields: ['k1', 'shop.example', undefined, undefined],
    });
  });
  test('a value that Caddy hides is not known', () => {
    const line = (formatNamed('caddy-json').samples[0] ?? '').replace('"k1"', '"REDACTED"');
    expect(entryOf('caddy-json', line, { fields: ['request.headers.X-Api-Key'] })).toMatchObject({
      fields: [undefined],
    });
  });
});

describe('traps:', () => {
  const sampleOf = (name: string, place = 0) => formatNamed(name).samples[place] ?? '';
  test('Envoy adds the peer to X-Forwarded-For', () => {
    expect(entryOf('envoy-text', sampleOf('envoy-text'))).toMatchObject({
      address: '203.0.113.9',
      forwardedFor: '198.51.100.7',
      host: 'shop.example',
    });
    expect(entryOf('envoy-json', sampleOf('envoy-json'))).toMatchObject({
      address: '203.0.113.9',
      forwardedFor: '198.51.100.7',
    });
    const found = sampleOf('envoy-json').replace('"203.0.113.9:51234"', '"198.51.100.7:0"');
    expect(entryOf('envoy-json', found)).toMatchObject({
      address: '198.51.100.7',
      forwardedFor: '198.51.100.7,203.0.113.9',
    });
  });
  test('a quote in a header of Envoy text', () => {
    const line = sampleOf('envoy-text').replace('curl/8.5.0', 'a "b" c');
    expect(entryOf('envoy-text', line)).toMatchObject({
      userAgent: 'a "b" c',
      host: 'shop.example',
    });
  });
  test('ClientHost of Traefik is what the client sent', () => {
    expect(entryOf('traefik-json', sampleOf('traefik-json'))).toMatchObject({
      address: '203.0.113.9',
      forwardedFor: '198.51.100.7',
    });
    const alone = sampleOf('traefik-json').replace('198.51.100.7', '203.0.113.9');
    expect(entryOf('traefik-json', alone)).toMatchObject({
      address: '203.0.113.9',
      forwardedFor: undefined,
    });
    const list = sampleOf('traefik-clf').replace('203.0.113.9', '198.51.100.7, 203.0.113.9');
    expect(entryOf('traefik-clf', list)).toMatchObject({
      address: '203.0.113.9',
      forwardedFor: '198.51.100.7',
    });
  });
  test('Traefik 1 writes no quotes where there is nothing', () => {
    const line = sampleOf('traefik-clf').replace('"-"', '-');
    expect(entryOf('traefik-clf', line)).toMatchObject({
      target: '/search?q=1',
      userAgent: 'curl/8.5.0',
    });
    expect(entryOf('traefik-clf', line.replace('"curl/8.5.0"', '-'))).toMatchObject({
      userAgent: undefined,
    });
  });
  test('an ALB logs whole URLs, and addresses with ports', () => {
    const line = sampleOf('aws-alb');
    expect(entryOf('aws-alb', line)).toMatchObject({
      startMs: at('2026-01-05T10:20:30.123Z'),
      target: '/search?q=1',
      host: 'shop.example',
    });
    expect(entryOf('aws-alb', line.replace(':443/', ':8443/'))).toMatchObject({
      host: 'shop.example:8443',
    });
    expect(entryOf('aws-alb', line.replace('203.0.113.9:', '2001:db8::1:'))).toMatchObject({
      address: '2001:db8::1',
    });
    expect(
      entryOf(
        'aws-alb',
        line.replace(
          '"GET https://shop.example:443/search?q=1 HTTP/2.0"',
          '"- http://shop.example:443- -"',
        ),
      ),
    ).toBeUndefined();
  });
  test('HAProxy has local times, and lines of sockets and failures', () => {
    const line = sampleOf('haproxy-httplog');
    expect(entryOf('haproxy-httplog', line, { zone: 'America/New_York' })).toMatchObject({
      startMs: at('2026-01-05T15:20:30.123Z'),
    });
    expect(entryOf('haproxy-httplog', line.replace('203.0.113.9', 'unix'))).toMatchObject({
      address: undefined,
    });
    expect(entryOf('haproxy-httplog', line.replace(' 200 ', ' -1 '))).toMatchObject({
      status: undefined,
    });
    expect(entryOf('haproxy-httplog', line.replace('q=1', '#22#23'))).toMatchObject({
      target: '/search?"#',
    });
    expect(
      entryOf('haproxy-httplog', line.replace('GET /search?q=1 HTTP/1.1', '<BADREQ>')),
    ).toBeUndefined();
  });
  test('Caddy logs the end, with a duration', () => {
    const line = sampleOf('caddy-json');
    expect((entryOf('caddy-json', line) as LogEntry).startMs).toBeCloseTo(
      1767608430123.456 - 12.3,
      3,
    );
    expect(
      (entryOf('caddy-json', line.replace('0.0123', '"12.3ms"')) as LogEntry).startMs,
    ).toBeCloseTo(1767608430123.456 - 12.3, 3);
    expect(entryOf('caddy-json', line, { timeIs: 'start' })).toMatchObject({
      startMs: 1767608430123.456,
    });
    expect(entryOf('caddy-json', line.replace('"status":200', '"status":0'))).toMatchObject({
      status: undefined,
    });
    expect(
      entryOf(
        'caddy-json',
        '{"level":"info","ts":1767608430.1,"msg":"serving initial configuration"}',
      ),
    ).toBeUndefined();
    expect(
      entryOf('caddy-json', line.replace('http.log.access', 'http.log.error')),
    ).toBeUndefined();
  });
  test('stamps of Cloudflare may be nanoseconds, seconds or text', () => {
    const line = sampleOf('cloudflare-logpush', 1);
    for (const stamp of ['1767608430123000000', '"2026-01-05T10:20:30.123Z"']) {
      expect(
        entryOf('cloudflare-logpush', line.replace('1767608430123000000', stamp)),
      ).toMatchObject({ startMs: at('2026-01-05T10:20:30.123Z') });
    }
    const whole = line.replace('1767608430123000000', '1767608430');
    expect(detected(whole).format).toMatchObject({ precisionMs: 1000, timeIs: 'start' });
    expect(detected(line).format).toMatchObject({ precisionMs: 0.001 });
  });
  test('an address of Google may have a port', () => {
    const line = sampleOf('gcp-load-balancer');
    expect(
      entryOf('gcp-load-balancer', line.replace('"203.0.113.9"', '"203.0.113.9:51234"')),
    ).toMatchObject({ address: '203.0.113.9', host: 'shop.example', target: '/search?q=1' });
    expect(
      entryOf('gcp-load-balancer', line.replace('"203.0.113.9"', '"[2001:db8::1]:5"')),
    ).toMatchObject({ address: '2001:db8::1' });
  });
  test('JSON of NGINX says by its keys what its time means', () => {
    expect(detected(sampleOf('nginx-json', 0)).format).toMatchObject({
      timeIs: 'end',
      precisionMs: 1000,
    });
    expect(detected(sampleOf('nginx-json', 1)).format).toMatchObject({
      timeIs: 'start',
      precisionMs: 1,
    });
  });
  test('JSON without escape=json, and characters of other scripts', () => {
    const line = (uri: string) =>
      `{"time_iso8601":"2026-01-05T10:20:30Z","request_method":"GET","request_uri":"${uri}","status":200}`;
    expect(entryOf('nginx-json', line('/\\x22'))).toMatchObject({ target: '/"' });
    expect(entryOf('nginx-json', line('/é'))).toMatchObject({ target: '/\xe9' });
    expect(entryOf('nginx-json', line('/\\u00e9'))).toMatchObject({ target: '/\xc3\xa9' });
    expect(entryOf('nginx-json', line('/\\u0026'))).toMatchObject({ target: '/&' });
  });
});

describe('CloudFront', () => {
  const HEAD = '#Fields: date time c-ip cs-method cs-uri-stem sc-status';
  const ROW = '2026-01-05\t10:20:30\t203.0.113.9\tGET\t/a\t200';
  const parser = (options = {}) =>
    formatNamed('aws-cloudfront').compile({ ...OPTIONS, ...options });

  test('is read whole', () => {
    const [line = ''] = formatNamed('aws-cloudfront').samples;
    expect(parser({ fields: ['cs(Host)', 'ssl-protocol', 'cs(Cookie)', 'none'] })(line)).toEqual({
      startMs: at('2026-01-05T10:20:30Z') - 45,
      method: 'GET',
      target: '/search?q=1',
      host: 'shop.example',
      address: '203.0.113.9',
      forwardedFor: undefined,
      status: 200,
      userAgent: 'curl/8.5.0',
      fields: ['d111111abcdef8.cloudfront.net', 'TLSv1.3', undefined, undefined],
    });
  });
  test('is read by the names of its columns, each source by its own', () => {
    const parse = parser();
    expect(parse('#Version: 1.0', 0)).toBeUndefined();
    expect(parse(HEAD, 0)).toBeUndefined();
    expect(parse('#Fields: cs-uri-query cs-uri-stem c-ip cs-method time date cs(Host)', 1)).toBe(
      undefined,
    );
    expect(parse(ROW, 0)).toMatchObject({ target: '/a', address: '203.0.113.9', status: 200 });
    expect(
      parse('b=c\t/a\t2001:db8::1\tPOST\t10:20:30\t2026-01-05\td1.cloudfront.net', 1),
    ).toMatchObject({
      startMs: at('2026-01-05T10:20:30Z'),
      method: 'POST',
      target: '/a?b=c',
      address: '2001:db8::1',
      host: 'd1.cloudfront.net',
    });
  });
  test('may have other columns from a line on', () => {
    const parse = parser();
    parse(HEAD);
    expect(parse(`${ROW}\tHit`)).toBeInstanceOf(Misread);
    parse(`${HEAD} x-edge-result-type`);
    expect(parse(`${ROW}\tHit`)).toMatchObject({ target: '/a' });
  });
  test.each([
    ['half a line', ROW.slice(0, -6)],
    ['no date', ROW.replace('2026-01-05', '-')],
    ['no method', ROW.replace('GET', '-')],
    ['spaces in place of tabs', ROW.replaceAll('\t', ' ')],
  ])('%s is not understood', (_name, row) => {
    const parse = parser();
    parse(HEAD);
    const made = parse(row);
    expect(made === undefined || made instanceof Misread).toBe(true);
  });
  test('has milliseconds in a column of its own', () => {
    const lines = ['#Fields: timestamp(ms) cs-uri-stem cs-method', '1767608430123\t/a\tGET'];
    const { format } = chooseFormat('auto', [{ name: 'log', lines }]);
    expect(format).toMatchObject({ name: 'aws-cloudfront', precisionMs: 1 });
    const parse = format.compile(OPTIONS);
    const [, entry] = lines.map((line) => parse(line));
    expect(entry).toMatchObject({ startMs: 1767608430123 });
  });
  test.each(['Mozilla/5.0%20(X;%20%22a%22)', 'Mozilla/5.0%2520(X;%2520%2522a%2522)'])(
    'the user agent %s is decoded',
    (agent) => {
      const parse = parser();
      parse(`${HEAD} cs(User-Agent)`);
      expect(parse(`${ROW}\t${agent}`)).toMatchObject({ userAgent: 'Mozilla/5.0 (X; "a")' });
    },
  );
  test('of IIS, with the same two lines before spaces, is another format', () => {
    const lines = ['#Version: 1.0', HEAD, ...Array(9).fill(ROW.replaceAll('\t', ' '))];
    expect(() => chooseFormat('auto', [{ name: 'log', lines }])).toThrow('is of no format');
  });
});

describe('absurd values are not understood:', () => {
  const json = (time: string, took: string) =>
    `{"time":${time},"request_time":${took},"remote_addr":"203.0.113.9","request":"GET / HTTP/1.1"}`;
  const day = (text: string) =>
    `203.0.113.9 - - [${text}:10:20:30 +0000] "GET / HTTP/1.1" 200 5 "-" "a"`;
  test.each([
    ['nginx-json', json('1e22', '0'), 'time'],
    ['nginx-json', json('1e308', '0'), 'time'],
    ['nginx-json', json('1', '0'), 'time'],
    ['nginx-json', json('"9999-12-31T23:59:59Z"', '0'), 'time'],
    ['nginx-json', json('1767608430', '1e13'), 'request_time'],
    ['nginx-json', json('1767608430', '1e308'), 'request_time'],
    ['nginx-json', json('1767608430', '"1e999"'), 'request_time'],
    ['nginx-combined', day('05/Jan/9999'), 'time_local'],
    ['nginx-combined', day('05/Jan/1970'), 'time_local'],
  ])('%s %s', (name, line, field) => {
    const made = entryOf(name, line);
    expect(made).toBeInstanceOf(Misread);
    expect(made).toMatchObject({ field });
  });
  test('but a connection may last a week', () => {
    expect(entryOf('nginx-json', json('1767608430', '604800'))).toMatchObject({
      startMs: 1767608430000 - 604_800_000,
    });
  });
});
