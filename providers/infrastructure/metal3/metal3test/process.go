package metal3test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// Files below the folder of an Ironic.
const (
	configFile   = "ironic.conf"
	accountsFile = "htpasswd"
	databaseFile = "ironic.sqlite"
	socketFile   = "api.sock"
	logFile      = "ironic.log"
	publishedDir = "http"
)

// config is ironic.conf. Power is looked at often, and two failures in a row are a fault.
// Source: Ironic's configuration reference; standalone as in its user guide.
const config = `[DEFAULT]
host = lab
my_ip = 127.0.0.1
auth_strategy = http_basic
http_basic_auth_user_file = {dir}/htpasswd
rpc_transport = none
state_path = {dir}
tempdir = {dir}
default_log_levels = eventlet.wsgi.server=WARNING,stevedore=WARNING
enabled_hardware_types = redfish
enabled_bios_interfaces = redfish,no-bios
enabled_boot_interfaces = redfish-virtual-media
enabled_firmware_interfaces = redfish,no-firmware
enabled_deploy_interfaces = direct,ramdisk,custom-agent
enabled_inspect_interfaces = redfish,no-inspect
enabled_network_interfaces = noop
enabled_raid_interfaces = agent,no-raid
default_raid_interface = no-raid
enabled_storage_interfaces = noop
enabled_vendor_interfaces = no-vendor
[agent]
require_tls = false
[api]
unix_socket = {dir}/api.sock
api_workers = 1
max_limit = {limit}
restrict_lookup = {restricted}
[conductor]
sync_power_state_interval = 2
power_failure_recovery_interval = 2
power_state_sync_max_retries = 2
check_provision_state_interval = 2
deploy_callback_timeout = {silence}
clean_callback_timeout = {silence}
[deploy]
http_root = {dir}/http
http_url = {published}
ramdisk_image_download_source = http
[redfish]
use_swift = false
connection_attempts = 2
connection_retry_interval = 1
[database]
connection = sqlite:///{dir}/ironic.sqlite
[dhcp]
dhcp_provider = none
[nova]
send_power_notifications = false
[service_catalog]
endpoint_override = {api}
`

// configure writes what Ironic reads when it starts.
func (i *Ironic) configure() error {
	hash, err := bcrypt.GenerateFromPassword([]byte(Password), bcrypt.MinCost)
	if err != nil {
		return err
	}
	text := strings.NewReplacer(
		"{dir}", i.inside(), "{api}", i.api.URL, "{published}", i.bmcs.URL+published, "{limit}", fmt.Sprint(cmp.Or(i.opts.PageLimit, 1000)),
		"{restricted}", fmt.Sprint(i.root == ""), // Ironic 29 lets no ramdisk look up a node that is serviced
		"{silence}", fmt.Sprint(int(cmp.Or(i.opts.Silence, time.Minute).Seconds())),
	).Replace(config)
	return errors.Join(
		os.Mkdir(filepath.Join(i.dir, publishedDir), 0o700),
		os.WriteFile(filepath.Join(i.dir, accountsFile), []byte(User+":"+string(hash)+"\n"), 0o600),
		os.WriteFile(filepath.Join(i.dir, configFile), []byte(text), 0o600),
	)
}

// inside is its folder as Ironic sees it.
func (i *Ironic) inside() string { return strings.TrimPrefix(i.dir, i.root) }

// python returns a command of Ironic. It ends with this process, and uses no proxy.
func (i *Ironic) python(program string, args ...string) *exec.Cmd {
	code := "import sys; sys.argv[0] = 'ironic'; from ironic.cmd." + program + " import main; sys.exit(main())"
	c := exec.Command("/usr/bin/python3", append([]string{"-c", code, "--config-file", filepath.Join(i.inside(), configFile)}, args...)...)
	c.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C.UTF-8", "PYTHONWARNINGS=ignore", "no_proxy=*", "HOME=" + i.inside(), "TMPDIR=" + i.inside()}
	c.Dir = i.inside()
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Chroot: i.root}
	return c
}

func (i *Ironic) createDatabase(ctx context.Context) error {
	c := i.python("dbsync", "create_schema")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	p, err := run(c)
	if err != nil {
		return err
	}
	select {
	case <-p.ended:
	case <-ctx.Done():
		p.kill()
		return ctx.Err()
	}
	if p.err != nil {
		return fmt.Errorf("cannot make Ironic's database: %w: %s", p.err, bytes.TrimSpace(out.Bytes()))
	}
	return nil
}

// A process is one that was started.
type process struct {
	command *exec.Cmd
	ended   chan struct{} // closed when it has ended; err says how
	err     error
}

// run starts c on a thread of its own: a process that dies with its parent dies with the thread
// that started it, and threads end where a test moves between networks.
func run(c *exec.Cmd) (*process, error) {
	p := &process{command: c, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := c.Start()
		started <- err
		if err == nil {
			p.err = c.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// kill ends it and those that it started, and waits.
func (p *process) kill() {
	_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) // it may have ended
	<-p.ended
}

// start runs Ironic and returns when its API answers.
func (i *Ironic) start(ctx context.Context) (*process, error) {
	if err := os.Remove(filepath.Join(i.dir, socketFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	out, err := os.OpenFile(filepath.Join(i.dir, logFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	c := i.python("singleprocess")
	c.Stdout, c.Stderr = out, out
	p, err := run(c)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if i.ask(ctx, http.MethodGet, "/v1/", nil, nil) == nil {
			return p, nil
		}
		select {
		case <-p.ended:
			return nil, fmt.Errorf("it ended: %w: %s", p.err, i.LogEnd())
		case <-ctx.Done():
			p.kill()
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// dial connects to Ironic itself, whatever address is asked for.
func (i *Ironic) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(i.dir, socketFile))
}

// LogEnd is the end of what Ironic said.
func (i *Ironic) LogEnd() string {
	f, err := os.Open(filepath.Join(i.dir, logFile))
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	const most = 4 << 10
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, size-most), io.SeekStart) // else all of it is shown
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// quiet is for an HTTP server whose clients go away as they like.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
