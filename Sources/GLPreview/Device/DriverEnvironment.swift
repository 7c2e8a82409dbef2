// What drivers read from the environment, said before the first display is opened, unless the user has said it.
internal import CEGL
internal import Glibc

enum DriverEnvironment {
  static let prepare: Void = {
    var words = sharedCacheBase()
    // Measured on Mesa 22.3, 1920x1080 NV12 to 640x360: raster threads of llvmpipe save no wall time beside a thread that
    // decodes and one that encodes, and cost half as much CPU again.
    words.append(("LP_NUM_THREADS", "0"))
    // What libEGL would print beside our own words; it comes with the error.
    words.append(("EGL_LOG_LEVEL", "fatal"))
    for (name, value) in words { unsafe glp_environment_add(name, value) }
  }()

  /// Mesa asks the list of users for the home, not HOME: where that has none, as for a service of systemd's with
  /// DynamicUser=, it keeps nothing, and llvmpipe makes its machine code anew in each run (150 ms for a view of a JPEG).
  /// In the folder that it gets from us it makes its own, `mesa_shader_cache`, as it would do in `~/.cache`.
  private static func sharedCacheBase() -> [(name: String, value: String)] {
    guard unsafe getenv("MESA_GLSL_CACHE_DIR") == nil else { return [] }
    guard let base = CacheBase.ofThisProcess else {
      // A name that is set to nothing is as if it were not set; Mesa says that it can't make a folder of no name.
      return unsafe String(lent: getenv("XDG_CACHE_HOME")) == ""
        ? [("MESA_SHADER_CACHE_DISABLE", "true")] : []
    }
    base.make()
    // Mesa trusts what it finds.
    return base.isOurs ? [("MESA_SHADER_CACHE_DIR", base.path)] : []
  }
}
