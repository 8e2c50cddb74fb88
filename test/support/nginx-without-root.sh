#!/bin/sh
# NGINX for an ordinary user. Debian's writes to folders of root whatever its configuration says, so it gets others in
# their place, in a mount namespace. It sees itself as user 1000 there: as root it would change to a user of its own.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
exec unshare --map-root-user --mount sh -c '
  for folder in /var/lib/nginx /var/log/nginx; do
    [ -w "$folder" ] || mount -t tmpfs tmpfs "$folder"
  done
  # The file of its process id. What else is in /run stays.
  if [ ! -w /run ]; then
    mkdir /var/lib/nginx/run /var/lib/nginx/work
    mount -t overlay overlay \
      -o lowerdir=/run,upperdir=/var/lib/nginx/run,workdir=/var/lib/nginx/work /run
  fi
  exec unshare --map-user=1000 --map-group=1000 nginx "$@"' sh "$@"
