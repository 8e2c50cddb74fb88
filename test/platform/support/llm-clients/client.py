"""Calls a model with the SDK of OpenAI or Anthropic until a call fails, and writes what happened in JSON.

Usage: client.py openai|anthropic BASE_URL CALLS MAX_RETRIES (the SDK's own number: default)
"""

import json
import sys

import anthropic
import openai

vendor, base_url, calls, max_retries = sys.argv[1:]
options = {} if max_retries == 'default' else {'max_retries': int(max_retries)}
messages = [{'role': 'user', 'content': 'Hello'}]

if vendor == 'openai':
    model = openai.OpenAI(api_key='sk-test', base_url=f'{base_url}/v1', **options)
    create = model.chat.completions.create
    arguments = {'model': 'any', 'messages': messages}
else:
    model = anthropic.Anthropic(api_key='sk-test', base_url=base_url, **options)
    create = model.messages.create
    arguments = {'model': 'any', 'messages': messages, 'max_tokens': 5}

answered = 0
failure = None
try:
    for _ in range(int(calls)):
        create(**arguments)
        answered += 1
except Exception as error:
    failure = {'kind': type(error).__name__, 'status': getattr(error, 'status_code', None), 'message': str(error)}
print(json.dumps({'answered': answered, 'failure': failure}))
