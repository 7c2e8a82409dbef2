// The environment of commands: only what programs need to find their files and the user's language. The environment of
// this process holds tokens and passwords (GLPREVIEW_TOKEN, variables in a configuration), and systemd's sockets.

/// Selects the variables that a command inherits.
enum ChildEnvironment {
  private static let names: Set<String> = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TERM", "TZ", "TMPDIR", "LANG", "LANGUAGE",
    "LD_LIBRARY_PATH",
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
    "XDG_DATA_DIRS",
  ]
  /// Prefixes of locales' variables, and of those of capture programs.
  private static let prefixes = ["LC_", "GST_", "LIBCAMERA_", "LIBVA_", "MESA_"]

  /// Those of `variables`, each `NAME=VALUE`, that a command inherits.
  static func inherited(from variables: [String]) -> [String] {
    variables.filter { variable in
      let name = String(variable.prefix { $0 != "=" })
      return names.contains(name) || prefixes.contains { name.hasPrefix($0) }
    }
  }
}
