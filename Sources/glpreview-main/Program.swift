// The program `glpreview`.
import glpreview_cli

@main
enum Program {
  @MainActor static func main() async { await runCommand() }
}
