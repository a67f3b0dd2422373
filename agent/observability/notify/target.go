package notify

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// Open returns what tells t by c. Secrets of c are in no error, also if the target repeats them.
func Open(t fleet.NotificationTarget, c Credentials, now func() time.Time) (Sender, error) {
	s, err := open(t, c, now)
	if err != nil {
		return nil, err
	}
	return guarded{s, c.hider()}, nil
}

func open(t fleet.NotificationTarget, c Credentials, now func() time.Time) (endpoint, error) {
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

// An endpoint is a Sender that can be probed.
type endpoint interface {
	Sender
	Prober
}

// guarded is an endpoint whose errors have no secrets.
type guarded struct {
	endpoint

	hide *strings.Replacer
}

// Send implements Sender.
func (g guarded) Send(ctx context.Context, m Message) (int, error) {
	told, err := g.endpoint.Send(ctx, m)
	return told, g.hidden(err)
}

// Probe implements Prober.
func (g guarded) Probe(ctx context.Context) (string, error) {
	found, err := g.endpoint.Probe(ctx)
	return g.hide.Replace(found), g.hidden(err)
}

// hidden returns err with other words for secrets.
func (g guarded) hidden(err error) error {
	if err == nil {
		return nil
	}
	return hiddenError{fleet.OneLine(errors.New(fleet.PlainText(g.hide.Replace(err.Error())))), err} // the cut must not leave half a secret
}

// A hiddenError is an error whose words have no secrets.
type hiddenError struct {
	text string
	err  error
}

func (e hiddenError) Error() string { return e.text }

func (e hiddenError) Unwrap() error { return e.err }

// hider replaces the secrets in words of others, in plain form, in the form that is sent, and as an answer has them in
// an address, in JSON and in HTML. An address is a secret from its path on.
func (c Credentials) hider() *strings.Replacer {
	own := inAnswers([]string{string(c.Token.Reveal()), string(c.SigningKey.Reveal()), string(c.Password.Reveal())})
	secrets := []string{c.Address}
	if u, err := url.Parse(c.Address); err == nil {
		password, _ := u.User.Password()
		secrets = append(secrets, u.RequestURI(), u.Path, u.EscapedPath(), u.RawQuery, password)
		for _, values := range u.Query() {
			secrets = append(secrets, values...)
		}
		secrets = append(secrets, strings.Split(u.Path, "/")...)
	}
	if c.Username != "" && !c.Password.IsZero() {
		secrets = append(secrets, base64.StdEncoding.EncodeToString([]byte(c.Username+":"+string(c.Password.Reveal()))))
	}
	var pairs []string
	secrets = append(inAnswers(secrets), own...)
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, s := range slices.Compact(secrets) {
		if len(s) >= leastPart || len(s) >= leastSecret && slices.Contains(own, s) {
			pairs = append(pairs, s, "[hidden]")
		}
	}
	return strings.NewReplacer(pairs...)
}

// inAnswers returns secrets with the forms in which an answer may repeat them.
func inAnswers(secrets []string) []string {
	out := slices.Clone(secrets)
	for _, s := range secrets {
		quoted := strconv.Quote(s)
		out = append(out, url.QueryEscape(s), url.PathEscape(s), html.EscapeString(s), quoted[1:len(quoted)-1])
	}
	return out
}

// leastPart is how many bytes a part of an address has that is a secret: shorter ones are words. A
// credential shorter than leastSecret would be hidden in any text.
const leastPart, leastSecret = 8, 4

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
