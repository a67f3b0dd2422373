package cli

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"fairlead.dev/render/worker"
)

// renderWorker is the hidden command that builds overlays for another process of fairlead.
// Its argument is a number of bytes.
const renderWorker = "render-worker"

// selfAnnotation of the root command has Streams.Self.
const selfAnnotation = "self"

// Self returns the file of this program, also where the file on the disk was replaced. It
// is empty where it is not known.
func Self() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	name, err := os.Executable()
	if err != nil {
		return ""
	}
	return name
}

// renderCommand returns the command that builds overlays. Nil: they are built in this
// process.
func renderCommand(cmd *cobra.Command) []string {
	if self := cmd.Root().Annotations[selfAnnotation]; self != "" {
		return []string{self, renderWorker}
	}
	return nil
}

// serveRenders builds overlays until its input ends. It ignores signals, which are for its
// parent.
func serveRenders(args []string, s Streams) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	var memory int64
	var err error
	if len(args) == 1 {
		memory, err = strconv.ParseInt(args[0], 10, 64)
	}
	if err == nil {
		err = worker.Serve(s.In, s.Out, memory)
	}
	if err != nil {
		fmt.Fprintln(s.Err, "fairlead:", err)
		return exitFailure
	}
	return exitOK
}

// addRender adds the flags of commands that render.
func (f *sourceFlags) addRender(cmd *cobra.Command) {
	l := &f.settings.RenderLimits
	cmd.Flags().StringVar(&f.settings.RenderCache, "render-cache", userCache(), "folder that keeps built overlays for later commands, but no Secrets and nothing that was encrypted; none keeps nothing (default: fairlead/render in the user's cache folder)")
	cmd.Flags().Lookup("render-cache").DefValue = "" // it is different for each user
	cmd.Flags().Var((*byteFlag)(&l.Memory), "render-memory", "memory limit for building one overlay, such as 256Mi (default: 256Mi, or less if the memory limit of this process is below 800Mi)")
	cmd.Flags().DurationVar(&l.Time, "render-time", 10*time.Second, "CPU time limit for building one overlay. The wall-clock limit is six times as long")
	cmd.Flags().IntVar(&l.Processes, "render-processes", 0, "number of overlays to build in parallel (default: by CPUs, and by two fifths of the memory limit of the cgroup or GOMEMLIMIT)")
}

// userCache returns the folder in which commands keep built overlays; empty: the user has none.
func userCache() string {
	folder, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(folder, "fairlead", "render")
}

// A byteFlag is a flag for a number of bytes.
type byteFlag int64

// String implements pflag.Value.
func (b *byteFlag) String() string {
	if *b == 0 {
		return ""
	}
	return resource.NewQuantity(int64(*b), resource.BinarySI).String()
}

// Set implements pflag.Value.
func (b *byteFlag) Set(s string) error {
	q, err := resource.ParseQuantity(s)
	if err != nil || q.Value() < 1<<20 {
		return fmt.Errorf("invalid quantity %q: must be like 256Mi, at least 1Mi", s)
	}
	*b = byteFlag(q.Value())
	return nil
}

// Type implements pflag.Value.
func (*byteFlag) Type() string { return "quantity" }
