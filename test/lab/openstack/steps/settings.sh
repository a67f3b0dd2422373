# Where the lab keeps its things and on which ports its services listen.
# Everything is below LAB_STATE, apart from Debian's packages.

LAB_STATE=${FAIRLEAD_LAB_OPENSTACK:-/var/lib/fairlead-lab/openstack}
PORT_BASE=${FAIRLEAD_LAB_OPENSTACK_PORT:-15000}

# The hypervisors. What stands before the dash is the availability zone.
LAB_HOSTS="az1-a az1-b az2-a az2-b az3-a az3-b"

PORT_KEYSTONE=$((PORT_BASE + 0))
PORT_NOVA=$((PORT_BASE + 1))
PORT_METADATA=$((PORT_BASE + 2))
PORT_PLACEMENT=$((PORT_BASE + 3))
PORT_GLANCE=$((PORT_BASE + 4))
PORT_NEUTRON=$((PORT_BASE + 5))
PORT_CINDER=$((PORT_BASE + 6))
PORT_OCTAVIA=$((PORT_BASE + 7))

ETC=$LAB_STATE/etc           # configuration, written anew by each start
LOG=$LAB_STATE/log           # one file per service
RUN=$LAB_STATE/run           # pid files and the database's socket
LIB=$LAB_STATE/lib           # keys, images, locks
DB=$LAB_STATE/db             # MariaDB's files
SNAPSHOT=$LAB_STATE/snapshot # db and lib as they were right after seeding
PASTE=$LAB_STATE/paste       # files taken from packages that are not installed
DRIVERS=$LAB_DIR/drivers

started=$(date +%s%N)

# say tells what happens, with the seconds since the start.
say() {
  local ms=$((($(date +%s%N) - started) / 1000000))
  printf '[%3d.%d s] %s\n' $((ms / 1000)) $((ms % 1000 / 100)) "$*"
}

die() {
  echo "lab: $*" >&2
  exit 1
}
