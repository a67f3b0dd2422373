package notify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fairlead.dev/fleet"
)

// A Sender tells one target. It returns how many of the events were taken, in order, also
// with an error.
type Sender interface {
	Send(ctx context.Context, m Message) (told int, err error)
}

// Credentials say where the messages of a target go, and what shows that they may.
type Credentials struct {
	Address     string // URL; often a secret itself
	Token       fleet.Secret
	SigningKey  fleet.Secret // of webhooks
	Username    string       // of a mail server
	Password    fleet.Secret
	From        string // address that mails are from
	Authorities []byte // PEM, beside the system's
}

// Open returns what tells t by c.
func Open(t fleet.NotificationTarget, c Credentials, now func() time.Time) (Sender, error) {
	if t.Type == fleet.TargetEmail {
		return newEmail(c, t.Recipients, now)
	}
	if t.Type == fleet.TargetSlack && c.Address == "" && !c.Token.IsZero() {
		c.Address = "https://slack.com/api/chat.postMessage"
	}
	to, err := newClient(c)
	if err != nil {
		return nil, err
	}
	switch t.Type {
	case fleet.TargetSlack:
		if c.Token.IsZero() == (t.Channel != "") {
			return nil, errors.New("a channel goes with a token, and an address of an incoming webhook with neither")
		}
		return slack{client: to, token: c.Token, channel: t.Channel}, nil
	case fleet.TargetMSTeams:
		return teams{to}, nil
	case fleet.TargetMatrix:
		if c.Token.IsZero() {
			return nil, errors.New("it has no file token, with an access token of the user that writes")
		}
		return matrix{client: to, token: c.Token, room: t.Channel}, nil
	case fleet.TargetWebhook:
		key, err := signingKey(c.SigningKey)
		return webhook{client: to, key: key, token: c.Token, now: now}, err
	}
	return nil, fmt.Errorf("targets of type %q are not known", t.Type)
}

// Folder returns the credentials of targets from a folder that has a folder for each, called
// as the target, with a file for each credential: address, token, signingKey, username,
// password, from, ca.crt. Files are read each time, so that one that was replaced counts.
func Folder(dir string) func(target string) (Credentials, error) {
	return func(target string) (Credentials, error) {
		if dir == "" {
			return Credentials{}, errors.New("the agent has no --notification-credentials, a folder with a folder for each target")
		}
		in := filepath.Join(dir, target)
		if info, err := os.Stat(in); err != nil || !info.IsDir() {
			return Credentials{}, fmt.Errorf("the agent's --notification-credentials has no folder %s", target)
		}
		var c Credentials
		var errs []error
		text := func(name string) string {
			b, err := os.ReadFile(filepath.Join(in, name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
			return strings.TrimSpace(string(b))
		}
		secret := func(name string) fleet.Secret { return fleet.NewSecret([]byte(text(name))) }
		c.Address, c.Username, c.From = text("address"), text("username"), text("from")
		c.Token, c.SigningKey, c.Password = secret("token"), secret("signingKey"), secret("password")
		c.Authorities = []byte(text("ca.crt"))
		if c.From != "" {
			if a, err := mail.ParseAddress(c.From); err != nil || a.Address != c.From {
				errs = append(errs, errors.New("its from is no address without a name, such as fairlead@example.com"))
			}
		}
		return c, errors.Join(errs...)
	}
}
