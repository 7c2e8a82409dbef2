// Schedules as a feature of the service.
package import Hummingbird
package import ServiceLifecycle

package struct ScheduleFeature: ServiceFeature {
  private let scheduler: Scheduler
  private let timeLapses: TimeLapseRoutes

  package init(_ core: ServiceCore) {
    scheduler = Scheduler(core)
    timeLapses = TimeLapseRoutes(core)
  }

  /// Stores send what is left after the last moment.
  package var services: [any Service] { [PictureStores(all: scheduler.stores), scheduler] }

  package func addRoutes(to group: ServiceRoutes) { timeLapses.add(to: group) }

  package func apply(_ new: ValidatedConfiguration, replacing old: ServedState) { scheduler.apply(new) }

  package func members(of camera: ServedCamera) -> [String: JSONValue] {
    let names = camera.views.map(\.name)
    return members(camera.configuration.schedules, of: camera.configuration.name, names)
  }

  package func lastingMembers(of camera: ServedCamera) -> [String: JSONValue] {
    Self.list(camera.configuration.schedules, camera.views.map(\.name)) { _ in [:] }
  }

  package func members(of scene: ServedScene) -> [String: JSONValue] {
    members(scene.configuration.schedules, of: scene.configuration.name, [scene.view.name])
  }

  package func lastingMembers(of scene: ServedScene) -> [String: JSONValue] {
    Self.list(scene.configuration.schedules, [scene.view.name]) { _ in [:] }
  }

  /// Describes the schedules of a camera or scene with all their state. `views` are its views.
  private func members(
    _ schedules: [ScheduleConfiguration], of camera: String, _ views: [String]
  ) -> [String: JSONValue] {
    Self.list(schedules, views) { schedule in
      let (next, record) = scheduler.status(of: schedule, of: camera)
      var members: [String: JSONValue] = [:]
      for result in [ServiceMetrics.ScheduleResult.taken, .missed, .failed] {
        members[result.rawValue] = .integer(record.counts[result] ?? 0)
      }
      members["next"] = next.map { .string(Scheduler.text(of: $0)) }
      members["last"] = record.last.map { last in
        var members: [String: JSONValue] = [
          "moment": .string(Scheduler.text(of: last.moment)), "result": .string(last.result.rawValue),
        ]
        members["reason"] = last.reason.map(JSONValue.string)
        return .object(members)
      }
      return members
    }
  }

  private static func list(
    _ schedules: [ScheduleConfiguration], _ all: [String],
    and more: (_ schedule: String) -> [String: JSONValue]
  ) -> [String: JSONValue] {
    guard !schedules.isEmpty else { return [:] }
    let values = schedules.map { schedule -> JSONValue in
      let views = schedule.views.isEmpty ? all : schedule.views
      let members: [String: JSONValue] = [
        "name": .string(schedule.name), "views": .array(views.map(JSONValue.string)),
      ]
      return .object(members.merging(more(schedule.name)) { $1 })
    }
    return ["schedules": .array(values)]
  }

  package var cameraMembers: [JSONMember] {
    let last = JSONSchema.object([
      .init("moment", .time), .init("result", .choice(["taken", "missed", "failed"])),
      .optional("reason", .text),
    ])
    return [
      .optional(
        "schedules",
        .list(
          of: .object(
            [
              .init("name", .text), .init("views", .list(of: .text)),
              .optional("next", .time, "missing if there is no moment within a year"),
              .optional("last", last, "the last moment and its result"),
            ]
              + ["taken", "missed", "failed"].map { .optional($0, .integer) })),
        "when snapshots are taken by themselves")
    ]
  }

  package func extend(_ listing: inout CameraListing, for request: Request, _ role: Role?) {
    guard role != .read, !scheduler.stores.isEmpty else { return }
    listing.members["stores"] = .array(
      scheduler.stores.map { store in
        let status = store.status
        var members: [String: JSONValue] = [
          "name": .string(store.configuration.name), "waiting": .integer(status.waiting),
          "sent": .integer(status.sent), "failed": .integer(status.failed),
          "dropped": .integer(status.dropped),
        ]
        members["problem"] = status.problem.map(JSONValue.string)
        return .object(members)
      })
  }

  package var listingMembers: [JSONMember] {
    [
      .optional(
        "stores",
        .list(
          of: .object(
            [.init("name", .text)] + ["waiting", "sent", "failed", "dropped"].map { .init($0, .integer) }
              + [.optional("problem", .text, "why the last picture was not accepted")])),
        "where schedules send pictures; only for the role `control`")
    ]
  }
}

extension Scheduler {
  /// ISO 8601 with whole seconds.
  static func text(of moment: Int) -> String {
    WallTime(sinceEpoch: .seconds(moment)).description.dropLast(5) + "Z"
  }
}
