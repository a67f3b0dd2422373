package cli

import (
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// waitFlags say how long a command waits.
type waitFlags struct {
	wait, timeout time.Duration
}

// defaultWait is how long --wait without a time waits.
const defaultWait = "10m0s"

// addWait adds the flags to cmd. usage says what for.
func addWait(cmd *cobra.Command, usage string) *waitFlags {
	f := &waitFlags{}
	cmd.Flags().DurationVar(&f.wait, "wait", 0, usage+", at most the given duration or --timeout")
	cmd.Flags().Lookup("wait").NoOptDefVal = defaultWait
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "time limit of --wait (default: the duration of --wait, or "+defaultWait+")")
	needs(cmd, "wait", "timeout")
	return f
}

// time returns how long to wait; 0 is not at all.
func (f *waitFlags) time() time.Duration {
	if f.wait != 0 && f.timeout != 0 {
		return f.timeout
	}
	return f.wait
}

// joinWait returns args with each --wait and a time behind it as one: --wait may stand
// alone, so that the time would be an argument.
func joinWait(args []string) []string {
	args = slices.Clone(args)
	for i := 0; i+1 < len(args) && args[i] != "--"; i++ {
		if _, err := time.ParseDuration(args[i+1]); args[i] == "--wait" && err == nil {
			args = slices.Replace(args, i, i+2, "--wait="+args[i+1])
		}
	}
	return args
}
