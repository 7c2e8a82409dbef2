// Sets environment variables that drivers read, before the first display is opened, unless the user has set them.
internal import CEGL
internal import Glibc

enum DriverEnvironment {
  static let prepare: Void = {
    var words = sharedCacheBase()
    // Measured on Mesa 22.3, 1920x1080 NV12 to 640x360: beside a decoding and an encoding thread, llvmpipe's raster
    // threads save no wall time and cost half as much CPU again.
    words.append(("LP_NUM_THREADS", "0"))
    // Silences libEGL's own messages; our error includes them.
    words.append(("EGL_LOG_LEVEL", "fatal"))
    for (name, value) in words { unsafe glp_environment_add(name, value) }
  }()

  /// Mesa finds the home folder in the user database, not in HOME. If the user has none there, as in a systemd
  /// service with DynamicUser=, Mesa caches nothing, and llvmpipe regenerates its machine code in each run (150 ms
  /// for a view of a JPEG). In the folder given here Mesa creates `mesa_shader_cache`, as it would in `~/.cache`.
  private static func sharedCacheBase() -> [(name: String, value: String)] {
    guard unsafe getenv("MESA_GLSL_CACHE_DIR") == nil else { return [] }
    guard let base = CacheBase.ofThisProcess else {
      // An empty variable counts as unset; Mesa would complain about a folder without a name.
      return unsafe String(lent: getenv("XDG_CACHE_HOME")) == ""
        ? [("MESA_SHADER_CACHE_DISABLE", "true")] : []
    }
    base.make()
    // Mesa trusts the folder's content, so it must be ours.
    return base.isOurs ? [("MESA_SHADER_CACHE_DIR", base.path)] : []
  }
}
