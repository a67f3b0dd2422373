package git

import (
	"slices"
	"strings"
)

// childEnvironment returns what of the environment env the program git needs to serve a
// repository: where programs, its configuration and temporary files are. The environment of
// an agent may have secrets, which hooks of the repository would see.
func childEnvironment(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		name = strings.ToUpper(name) // names of Windows have any case
		return !strings.HasPrefix(name, "GIT_CONFIG") && !slices.Contains([]string{
			"PATH", "HOME", "XDG_CONFIG_HOME", "GIT_EXEC_PATH", "LD_LIBRARY_PATH",
			"TMPDIR", "TEMP", "TMP", "USERPROFILE", "SYSTEMROOT", "PATHEXT",
		}, name)
	})
}
