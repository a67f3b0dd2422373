package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// A keyring has the keys of a fleet whose commits and status are signed.
type keyring struct{ dir string }

// newKeyring makes the keys of a person, of the agent, and of somebody else.
func newKeyring(dir string) (*keyring, error) {
	for _, folder := range []string{"", "trusted", "requests"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			return nil, err
		}
	}
	k := &keyring{dir: dir}
	for _, who := range []string{"person", "agent", "stranger"} {
		cmd := exec.CommandContext(context.Background(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", who, "-f", k.key(who))
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("ssh-keygen: %w: %s", err, out)
		}
	}
	for _, who := range []string{"person", "agent"} {
		if err := k.put("requests", who); err != nil {
			return nil, err
		}
	}
	return k, k.put("trusted", "person")
}

// key names the private key of who.
func (k *keyring) key(who string) string { return filepath.Join(k.dir, who) }

// put puts the public key of who into folder.
func (k *keyring) put(folder, who string) error {
	b, err := os.ReadFile(k.key(who) + ".pub")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(k.dir, folder, who+".pub"), b, 0o600)
}

// flags are those of the agent.
func (k *keyring) flags() []string {
	if k == nil {
		return nil
	}
	return []string{"--trusted-keys", filepath.Join(k.dir, "trusted"), "--request-keys", filepath.Join(k.dir, "requests"), "--signing-key", k.key("agent")}
}

// sign has all commits of the clone signed.
func (k *keyring) sign(f *fleet) error {
	for name, value := range map[string]string{"gpg.format": "ssh", "user.signingKey": k.key("person"), "commit.gpgSign": "true"} {
		if err := f.git("config", name, value); err != nil {
			return err
		}
	}
	return nil
}

// withdraw takes the key away that signs the commits, while people push on and the agent may start again, and puts it
// back.
func (w *world) withdraw(ctx context.Context, r *rand.Rand, f *fleet) error {
	person := filepath.Join(w.keys.dir, "trusted", "person.pub")
	if err := w.keys.put("trusted", "stranger"); err != nil {
		return err
	}
	if err := os.Remove(person); err != nil {
		return err
	}
	for range 2 {
		if err := f.disturb(r); err != nil {
			return err
		}
		if r.IntN(2) == 0 {
			if err := w.restart(); err != nil {
				return err
			}
		}
		if err := wait(ctx, time.Duration(500+r.IntN(3000))*time.Millisecond); err != nil {
			return err
		}
	}
	if err := w.keys.put("trusted", "person"); err != nil {
		return err
	}
	return os.Remove(filepath.Join(w.keys.dir, "trusted", "stranger.pub"))
}
