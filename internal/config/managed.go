package config

import "runtime"

// ManagedFile is where the settings of whoever administers a machine lie, over
// all others. It depends on nothing that a user may set.
func ManagedFile() string {
	switch runtime.GOOS {
	case "darwin":
		return "/Library/Application Support/Cantle/managed-settings.json"
	case "windows":
		return `C:\ProgramData\Cantle\managed-settings.json`
	}
	return "/etc/cantle/managed-settings.json"
}
