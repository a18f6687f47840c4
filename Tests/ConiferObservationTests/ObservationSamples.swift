import Conifer
import ConiferObservation
import Observation

struct Message: Codable, Equatable, Sendable {
  var text: String
}

@MainActor @Observable
final class RoomModel {
  let messages: ObservedList<Message>
  var sending: ObservedWrite?
  private let room: DatabaseReference

  init(_ room: DatabaseReference) {
    self.room = room
    messages = ObservedList(room.child("messages").queryLimited(toLast: 50))
  }

  func send(_ message: Message) {
    sending = ObservedWrite(room.child("messages").childByAutoId().enqueue(.set(from: message)))
  }
}
