package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/smtp"
	"net/url"
	"strings"
	"time"

	"fairlead.dev/fleet"
)

// An email is handed to a mail server: smtps:// speaks TLS from the start, smtp:// has to
// offer STARTTLS, but on this machine.
// Source: RFC 5321, RFC 3207, RFC 8314.
type email struct {
	server   *url.URL
	tls      *tls.Config
	username string
	password fleet.Secret
	from     string
	to       []string
	now      func() time.Time
}

// newEmail returns what writes to recipients by c.
func newEmail(c Credentials, recipients []string, now func() time.Time) (endpoint, error) {
	server, err := url.Parse(c.Address)
	if err != nil || server.Hostname() == "" || server.Scheme != "smtp" && server.Scheme != "smtps" {
		return nil, errors.New("its address is no URL that begins with smtp:// or smtps://, such as smtps://mail.example.com")
	}
	if c.From == "" {
		return nil, errors.New("it has no file from, with the address that messages are from")
	}
	e := email{server: server, username: c.Username, password: c.Password, from: c.From, to: recipients, now: now}
	e.tls = &tls.Config{ServerName: server.Hostname(), MinVersion: tls.VersionTLS12}
	if len(c.Authorities) > 0 {
		e.tls.RootCAs = x509.NewCertPool()
		if !e.tls.RootCAs.AppendCertsFromPEM(c.Authorities) {
			return nil, errors.New("its ca.crt has no certificate")
		}
	}
	return e, nil
}

// Send implements Sender.
func (e email) Send(ctx context.Context, m Message) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := e.dial(ctx)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if err := e.deliver(c, m); err != nil {
		return 0, err
	}
	_ = c.Quit() // it was taken
	return len(m.Events), nil
}

// dial returns a session that is encrypted, and logged in where there is a username.
func (e email) dial(ctx context.Context) (*smtp.Client, error) {
	port, direct := e.server.Port(), e.server.Scheme == "smtps"
	if port == "" {
		port = map[bool]string{true: "465", false: "587"}[direct]
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(e.server.Hostname(), port))
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if direct {
		conn = tls.Client(conn, e.tls)
	}
	c, err := smtp.NewClient(conn, e.server.Hostname())
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	if err := e.secure(c, direct); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// secure encrypts what is not, and logs in.
func (e email) secure(c *smtp.Client, encrypted bool) error {
	if !encrypted {
		offered, _ := c.Extension("STARTTLS")
		switch {
		case offered:
			if err := c.StartTLS(e.tls); err != nil {
				return err
			}
		case !isLoopback(e.server.Hostname()):
			return errors.New("the mail server offers no STARTTLS: use smtps:// or another port")
		}
	}
	if e.username == "" {
		return nil
	}
	return c.Auth(smtp.PlainAuth("", e.username, string(e.password.Reveal()), e.server.Hostname()))
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// deliver hands m to the server.
func (e email) deliver(c *smtp.Client, m Message) error {
	if err := c.Mail(e.from); err != nil {
		return err
	}
	for _, to := range e.to {
		if err := c.Rcpt(to); err != nil {
			return fmt.Errorf("%s is refused: %w", to, err)
		}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(e.text(m)); err != nil {
		return err
	}
	return w.Close()
}

// text is m with the headers of a mail, and its body in base64, where no line is too long.
func (e email) text(m Message) []byte {
	var b bytes.Buffer
	domain := e.from[strings.LastIndex(e.from, "@")+1:]
	for _, h := range [][2]string{
		{"From", e.from},
		{"To", strings.Join(e.to, ", ")},
		{"Subject", mime.QEncoding.Encode("utf-8", fleet.PlainText(m.Title()))},
		{"Date", e.now().UTC().Format(time.RFC1123Z)},
		{"Message-ID", "<" + m.ID() + "@" + domain + ">"},
		{"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "base64"},
	} {
		_, _ = fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
	}
	b.WriteString("\r\n")
	body := base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(plainText(m), "\n", "\r\n")))
	for len(body) > 0 {
		n := min(76, len(body))
		b.WriteString(body[:n] + "\r\n")
		body = body[n:]
	}
	return b.Bytes()
}
