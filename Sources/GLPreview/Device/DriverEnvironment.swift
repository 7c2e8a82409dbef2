// What drivers read from the environment, said before the first display is opened, unless the user has said it.
internal import Glibc

enum DriverEnvironment {
  /// Measured on Mesa 22.3, 1920x1080 NV12 to 640x360: raster threads of llvmpipe save no wall time beside a thread that
  /// decodes and one that encodes, and cost half as much CPU again.
  static let prepare: Void = {
    unsafe setenv("LP_NUM_THREADS", "0", 0)
    // What libEGL would print beside our own words; it comes with the error.
    unsafe setenv("EGL_LOG_LEVEL", "fatal", 0)
  }()
}
