import SwiftUI

/// Rooms and their messages, kept on the device and synced with a server.
@main
struct RoomsApp: App {
  @State private var model = AppModel()
  @Environment(\.scenePhase) private var phase

  var body: some Scene {
    WindowGroup {
      RoomList(model: model)
    }
    .onChange(of: phase) { _, phase in
      switch phase {
      case .background: model.leave()
      case .active: model.comeBack()
      default: break
      }
    }
  }
}
