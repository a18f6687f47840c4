import ConiferKit
import ConiferObservation
import SwiftUI

struct RoomView: View {
  private let room: DatabaseReference
  @State private var messages: ObservedList<Message>
  @State private var sending: ObservedWrite?
  @State private var text = ""

  init(room: DatabaseReference) {
    self.room = room
    _messages = State(
      initialValue: ObservedList(room.child("messages").queryLimited(toLast: 50)))
  }

  var body: some View {
    List {
      switch messages.phase {
      case .waiting: Text("Loading")
      case .failed(let error): Text(error.message)
      case .ended(let error): Text(error?.message ?? "Nothing is heard any more.")
      case .current: Text(age)
      }
      ForEach(messages.rows) { row in Text(row.value.text) }
      TextField("Message", text: $text)
        .onSubmit(send)
      if let sending { Text(words(sending.progress)) }
    }
    .navigationTitle("Messages")
  }

  private func send() {
    guard !text.isEmpty else { return }
    let write = room.child("messages").childByAutoId().enqueue(.set(from: Message(text: text)))
    sending = ObservedWrite(write)
    text = ""
  }

  /// How old what is shown is.
  private var age: String {
    guard let metadata = messages.metadata else { return "" }
    if metadata.hasPendingWrites { return "Some of it is not sent yet." }
    return metadata.isFromCache ? "As it was when there was a connection." : ""
  }

  private func words(_ progress: ObservedWrite.Progress) -> String {
    switch progress {
    case .waiting, .queued, .durable: "Kept, not sent yet"
    case .closed: "Kept for the next start"
    case .ended(.acknowledged): "Sent"
    case .ended(let outcome): "Not sent: \(outcome)"
    }
  }
}
