// Lists a camera's controls, and converts the user's text to a control's value.
internal import CV4L2
internal import Glibc

extension V4L2Node {
  /// Returns all controls. Controls whose value is not a single number have the kind `.other` and no value.
  func controls() -> [CameraControl] {
    var controls: [CameraControl] = []
    var control = glp_v4l2_control()
    // A limit for drivers whose list never ends.
    for _ in 0..<1000 {
      guard unsafe glp_v4l2_control_after(descriptor, control.id, &control) == 0 else { break }
      // The title of a group.
      guard control.type != 6 else { continue }
      controls.append(describe(control))
    }
    return controls
  }

  private func describe(_ control: glp_v4l2_control) -> CameraControl {
    let title = String(tuple: control.name)
    let kind = control.is_compound ? .other : CameraControl.Kind(v4l2Type: control.type)
    var value: Int64 = 0
    // Write-only controls have no value; disabled ones can't be read.
    let status = unsafe glp_v4l2_get_control(descriptor, control.id, control.type, &value)
    let hasValue = kind != .button && kind != .other && status == 0
    return CameraControl(
      name: CameraControl.name(of: title), title: title, kind: kind, minimum: Int(control.minimum),
      maximum: kind == .bitmask ? Int(UInt32(truncatingIfNeeded: control.maximum)) : Int(control.maximum),
      step: Int(clamping: control.step),
      defaultValue: kind == .bitmask
        ? Int(UInt32(truncatingIfNeeded: control.default_value)) : Int(control.default_value),
      value: hasValue ? Int(value) : nil,
      items: kind == .menu || kind == .integerMenu ? items(control, kind) : [],
      flags: CameraControl.flags(control.flags), id: control.id, type: control.type)
  }

  private func items(_ control: glp_v4l2_control, _ kind: CameraControl.Kind) -> [CameraControl.MenuItem] {
    guard control.minimum >= 0, control.maximum >= control.minimum, control.maximum < 4096 else { return [] }
    return (control.minimum...control.maximum).compactMap { index in
      var name = [CChar](repeating: 0, count: 33)
      var value: Int64 = 0
      guard unsafe glp_v4l2_menu_item(descriptor, control.id, UInt32(index), &name, &value) == 0 else {
        return nil
      }
      return CameraControl.MenuItem(
        value: Int(index), name: kind == .integerMenu ? "\(value)" : String(written: name))
    }
  }

  /// Sets the controls in order.
  ///
  /// - Throws: `V4L2Refusal` for a setting that is not possible; `V4L2Error` if the device is gone.
  func set(_ settings: [CameraControl.Setting]) throws {
    guard !settings.isEmpty else { return }
    let controls = controls()
    for setting in settings {
      let control = try CameraControl.find(setting.name, in: controls)
      let value = try control.value(of: setting.value)
      let code = glp_v4l2_set_control(descriptor, control.id, control.type, Int64(value))
      let error = V4L2Error(activity: "setting \(control.name)", code: code)
      if error.isGone { throw error }
      guard code == 0 else {
        throw V4L2Refusal(
          "control \(control.name): the camera does not take \(setting.value) now (\(String(errno: code)))")
      }
    }
  }
}

extension CameraControl {
  /// Returns the driver's name in lower case, with `_` for everything but letters and digits, like v4l2-ctl.
  static func name(of title: String) -> String {
    title.lowercased().split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }.joined(separator: "_")
  }

  /// Controls of USB cameras that Linux 5.15 renamed: the old name and the new one.
  private static let renamed = [
    "exposure_auto": "auto_exposure", "exposure_absolute": "exposure_time_absolute",
    "exposure_auto_priority": "exposure_dynamic_framerate",
    "white_balance_temperature_auto": "white_balance_automatic", "focus_auto": "focus_automatic_continuous",
  ]

  /// Finds a control by its name, by its older or newer name, or by the driver's name.
  static func find(_ text: String, in controls: [CameraControl]) throws(V4L2Refusal) -> CameraControl {
    let name = name(of: text)
    let other = renamed[name] ?? renamed.first { $0.value == name }?.key
    for name in [name, other].compactMap(\.self) {
      if let control = controls.first(where: { $0.name == name }) { return control }
    }
    let names = controls.filter { $0.kind != .other }.map(\.name)
    throw V4L2Refusal(
      "has no control '\(text)'"
        + (names.isEmpty ? ": it has none that can be set" : ": there are \(names.joined(separator: ", "))"))
  }

  /// Returns the value for `text`: a number, `true` or `false`, or the name of a menu item.
  func value(of text: String) throws(V4L2Refusal) -> Int {
    func refuse(_ reason: String) -> V4L2Refusal { V4L2Refusal("control \(name)=\(text): \(reason)") }
    if flags.contains("read-only") { throw refuse("it is read-only") }
    if flags.contains("disabled") { throw refuse("it is disabled") }
    let number = Self.number(text)
    switch kind {
    case .other: throw refuse("it is not set by a number, and can't be set here")
    case .button: return 1
    case .boolean:
      guard let isOn = try? ParameterParser.flag("", text) else { throw refuse("use true or false") }
      return isOn ? 1 : 0
    case .menu, .integerMenu:
      let folded = Self.name(of: text)
      // In a menu of numbers, `5` may be an item's position or its number. The position wins, as in v4l2-ctl.
      if let item = items.first(where: { $0.value == number }) { return item.value }
      if let item = items.first(where: { Self.name(of: $0.name) == folded && !folded.isEmpty }) {
        return item.value
      }
      throw refuse("use one of " + items.map { "\($0.value) (\($0.name))" }.joined(separator: ", "))
    case .integer, .integer64, .bitmask:
      let range = kind == .bitmask ? 0...maximum : minimum...max(minimum, maximum)
      guard let number, range.contains(number) else {
        throw refuse(
          "it takes \(range.lowerBound)...\(range.upperBound)" + (step > 1 ? " in steps of \(step)" : ""))
      }
      return number
    }
  }

  /// Parses a decimal number, or a hexadecimal one after 0x.
  private static func number(_ text: String) -> Int? {
    let folded = text.lowercased()
    return folded.hasPrefix("0x") ? Int(folded.dropFirst(2), radix: 16) : Int(folded)
  }

  /// Returns the names of `V4L2_CTRL_FLAG_*` bits.
  static func flags(_ bits: UInt32) -> [String] {
    [
      (0x01, "disabled"), (0x02, "grabbed"), (0x04, "read-only"), (0x10, "inactive"), (0x40, "write-only"),
      (0x80, "volatile"),
    ].filter { bits & $0.0 != 0 }.map(\.1)
  }
}

extension CameraControl.Kind {
  /// `enum v4l2_ctrl_type`
  init(v4l2Type: UInt32) {
    self =
      switch v4l2Type {
      case 1: .integer
      case 2: .boolean
      case 3: .menu
      case 4: .button
      case 5: .integer64
      case 8: .bitmask
      case 9: .integerMenu
      default: .other
      }
  }
}
