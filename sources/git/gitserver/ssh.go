package gitserver

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"fairlead.dev/test/run/ports"
)

// An SSHServer is a real sshd on loopback, for tests. It serves repositories to one key,
// and does nothing else.
type SSHServer struct {
	URL        string // "ssh://user@127.0.0.1:port", to which the path of a repository is added
	KnownHosts []byte
	Key        []byte // private key of the user, OpenSSH format

	cancel context.CancelFunc
	cmd    *exec.Cmd
}

// StartSSH starts an sshd for the repositories on this computer, with its files in dir.
// readOnly refuses pushes; config has further lines of sshd_config(5). The caller closes
// the server.
func StartSSH(ctx context.Context, dir string, readOnly bool, config ...string) (*SSHServer, error) {
	const sshd = "/usr/sbin/sshd"
	if _, err := os.Stat(sshd); err != nil {
		return nil, err
	}
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	hostKey, hostPublic, err := newKey()
	if err != nil {
		return nil, err
	}
	userKey, userPublic, err := newKey()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	force := `command="git-shell -c \"$SSH_ORIGINAL_COMMAND\"",restrict `
	if readOnly {
		force = `command="case \"$SSH_ORIGINAL_COMMAND\" in git-upload-pack*) exec git-shell -c \"$SSH_ORIGINAL_COMMAND\";; *) echo 'ERROR: The key you are authenticating with has been marked as read only.' >&2; exit 1;; esac",restrict `
	}
	files := map[string]string{
		"host_key":        string(hostKey),
		"authorized_keys": force + string(ssh.MarshalAuthorizedKey(userPublic)),
		"sshd_config": fmt.Sprintf(`ListenAddress 127.0.0.1:%d
HostKey %[2]s/host_key
AuthorizedKeysFile %[2]s/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
AllowUsers %[3]s
`, port, dir, me.Username) + strings.Join(config, "\n") + "\n",
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return nil, err
		}
	}
	// As root, sshd needs this folder to exist.
	if me.Uid == "0" {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			return nil, err
		}
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	s := &SSHServer{
		URL:        "ssh://" + me.Username + "@" + address,
		KnownHosts: fmt.Appendf(nil, "[127.0.0.1]:%d %s", port, ssh.MarshalAuthorizedKey(hostPublic)),
		Key:        userKey,
	}
	ctx, s.cancel = context.WithCancel(ctx)
	said := &strings.Builder{}
	s.cmd = exec.CommandContext(ctx, sshd, "-D", "-e", "-f", filepath.Join(dir, "sshd_config"))
	s.cmd.Stderr = said
	s.cmd.WaitDelay = 5 * time.Second // sessions of clients that stay have it too
	if err := s.cmd.Start(); err != nil {
		s.cancel()
		return nil, err
	}
	if err := waitFor(ctx, address); err != nil {
		s.Close()
		return nil, fmt.Errorf("cannot start sshd: %w: %s", err, said)
	}
	return s, nil
}

// Close ends the server.
func (s *SSHServer) Close() {
	s.cancel()
	_ = s.cmd.Wait()
}

func newKey() ([]byte, ssh.PublicKey, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return nil, nil, err
	}
	key, err := ssh.NewPublicKey(public)
	return pem.EncodeToMemory(block), key, err
}

func freePort() (int, error) {
	address, err := ports.Free()
	if err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}

// waitFor waits until something listens on address.
func waitFor(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}
