package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"fairlead.dev/fleet"
)

// ByHand returns the options for a branch that a person writes. Name and address are those
// of git commit: from GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL, or from Git's configuration in
// the current folder. Commits are signed where commit.gpgSign says so. The program git is
// asked for the configuration, since it alone evaluates includes and conditions. An error
// of kind Invalid says what is missing.
func ByHand(ctx context.Context) (BranchOptions, error) {
	const op = "determine the author of the commit"
	o := BranchOptions{
		Name:  cmp.Or(os.Getenv("GIT_AUTHOR_NAME"), configured(ctx, "user.name")),
		Email: cmp.Or(os.Getenv("GIT_AUTHOR_EMAIL"), configured(ctx, "user.email")),
	}
	if o.Name == "" || o.Email == "" {
		return o, fleet.Errorf(fleet.Invalid, op, "Git has no user.name and user.email. Run git config --global user.name NAME and git config --global user.email ADDRESS")
	}
	if configured(ctx, "--type=bool", "commit.gpgSign") != "true" {
		return o, nil
	}
	var err error
	if o.Sign, err = signer(ctx, o); err != nil {
		return o, fleet.Errorf(fleet.Invalid, op, "commit.gpgSign is set: %w", err)
	}
	return o, nil
}

// configured returns a value of Git's configuration, or an empty string.
func configured(ctx context.Context, args ...string) string {
	out, err := exec.CommandContext(ctx, "git", append([]string{"config", "--get"}, args...)...).Output()
	if err != nil {
		return "" // not set, or there is no git
	}
	return strings.TrimSpace(string(out))
}

// signer returns a function that signs commits with the program that Git would use.
func signer(ctx context.Context, o BranchOptions) (func([]byte) (string, error), error) {
	key := configured(ctx, "user.signingKey")
	program, args := "", []string(nil)
	switch format := configured(ctx, "gpg.format"); format {
	case "", "openpgp":
		program = cmp.Or(configured(ctx, "gpg.openpgp.program"), configured(ctx, "gpg.program"), "gpg")
		args = []string{"-bsau", cmp.Or(key, fmt.Sprintf("%s <%s>", o.Name, o.Email))}
	case "ssh":
		key = configured(ctx, "--type=path", "user.signingKey")
		if key == "" {
			return nil, errors.New("gpg.format is ssh and user.signingKey is not set: name the file of the key there")
		}
		program, args = cmp.Or(configured(ctx, "gpg.ssh.program"), "ssh-keygen"), []string{"-Y", "sign", "-n", "git", "-f", key}
	default:
		return nil, fmt.Errorf("gpg.format %q is not supported: use openpgp or ssh", format)
	}
	return func(commit []byte) (string, error) {
		cmd := exec.CommandContext(ctx, program, args...)
		var out, complaint bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(commit), &out, &complaint
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(complaint.String()))
		}
		return out.String(), nil
	}, nil
}
