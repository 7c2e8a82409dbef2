// The configuration keys of the core and of all features.
internal import MQTT
internal import RTSP
internal import Recordings
internal import Schedules
internal import WebRTC

extension ConfigurationSchema {
  /// The keys of the whole service.
  package static let all = ConfigurationSchema(
    ConfigurationKeys.access + [WebRTCConfiguration.key, RTSPConfiguration.key]
      + ConfigurationKeys.nodes + [MQTTConfiguration.key]
      + ConfigurationKeys.pictures(
        [RecordingConfiguration.cameraKey, ScheduleConfiguration.cameraKey], [ScheduleConfiguration.sceneKey])
      + [RecordingConfiguration.serviceKey] + ScheduleConfiguration.serviceKeys)
}
