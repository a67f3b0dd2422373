package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// questions ask a person for what no flag says.
type questions struct {
	cmd  *cobra.Command
	in   *bufio.Reader
	asks bool
}

// newQuestions returns those of cmd. Nothing is asked for but where the person wants it, or
// sits at a terminal and said nothing.
func newQuestions(cmd *cobra.Command, wanted bool) *questions {
	f := cmd.Flags().Lookup("ask")
	asks := wanted
	if file, ok := cmd.InOrStdin().(*os.File); ok && f != nil && !f.Changed {
		asks = asks || term.IsTerminal(int(file.Fd()))
	}
	return &questions{cmd: cmd, in: bufio.NewReader(cmd.InOrStdin()), asks: asks}
}

// ask returns the answer to the question what, or was for an empty answer. It does not ask if the
// flag is set, or standard input is no terminal.
func (q *questions) ask(flag, what, was string) (string, error) {
	if !q.asks || flag != "" && q.cmd.Flags().Changed(flag) {
		return was, nil
	}
	if _, err := fmt.Fprintf(q.cmd.ErrOrStderr(), "%s [%s]: ", what, was); err != nil {
		return "", err
	}
	line, err := q.in.ReadString('\n')
	if errors.Is(err, io.EOF) {
		return "", errors.New("standard input ended before the last prompt: set flags for the other values, or --ask=false")
	}
	if err != nil {
		return "", err
	}
	if line = strings.TrimSpace(line); line == "" {
		return was, nil
	}
	return line, nil
}
