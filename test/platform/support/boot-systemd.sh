# Boots the systemd of this machine in namespaces of its own: another process tree, network, host name and root, whose
# files are those of this machine with every change in memory. Needs root.
#
#   unshare --mount bash boot-systemd.sh FOLDER [SOURCE TARGET]...
#
# A folder SOURCE is mounted at TARGET, a program SOURCE is copied there. FOLDER is empty. If this process is killed, everything in it ends.
set -eu
folder=$1
shift
mount --make-rprivate /

if [ "${1:-}" != inside ]; then
  # Its processes are in a control group of their own, which is the only one that it sees.
  mkdir "$folder/cgroup" && mount -t cgroup2 cgroup2 "$folder/cgroup"
  mkdir "$folder/cgroup/${folder##*/}"
  echo $$ > "$folder/cgroup/${folder##*/}/cgroup.procs"
  exec unshare --mount --pid --uts --ipc --net --cgroup --fork --kill-child \
    bash "$0" "$folder" inside "$@"
fi
shift

root=$folder/root
mkdir "$root" "$folder/memory"
mount -t tmpfs tmpfs "$folder/memory"
mkdir "$folder/memory/changes" "$folder/memory/work"
mount -t overlay overlay \
  -o "lowerdir=/,upperdir=$folder/memory/changes,workdir=$folder/memory/work" "$root"
mount -t proc proc "$root/proc"
mount -o bind,ro "$root/proc/sys" "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for name in run tmp dev; do mount -t tmpfs tmpfs "$root/$name"; done
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for name in null zero full random urandom tty; do
  touch "$root/dev/$name"
  mount --bind "/dev/$name" "$root/dev/$name"
done
# Only the journal: nothing that would configure the kernel or hardware.
for target in sysinit sockets local-fs timers basic; do
  rm -rf "$root"/{usr/lib,etc}/systemd/system/$target.target.wants
done
mkdir -p "$root/etc/systemd/system/basic.target.wants"
ln -s /lib/systemd/system/systemd-journald.service "$root/etc/systemd/system/basic.target.wants"
while [ $# -ge 2 ]; do
  if [ -d "$1" ]; then
    mkdir -p "$root$2"
    mount --bind "$1" "$root$2"
  else
    install -D --mode=755 "$1" "$root$2"
  fi
  shift 2
done
ip link set lo up
mkdir "$root/run/old"
cd "$root"
pivot_root . run/old
umount --lazy /run/old
exec env -i container=test PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  setpriv --bounding-set=-sys_module,-sys_time,-sys_boot,-sys_rawio \
  /lib/systemd/systemd --system --unit=basic.target --show-status=no
