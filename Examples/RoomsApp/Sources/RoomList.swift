import ConiferKit
import ConiferObservation
import ConiferStorage
import Foundation
import SwiftUI

struct RoomList: View {
  let model: AppModel
  @State private var rooms: ObservedList<Room>
  @State private var name = ""

  init(model: AppModel) {
    self.model = model
    _rooms = State(
      initialValue: ObservedList(
        model.database.reference(withPath: "rooms").queryOrdered(byChild: "name")))
  }

  var body: some View {
    NavigationStack {
      List {
        if let problem = model.problem { Text(problem) }
        ForEach(rooms.rows) { row in
          NavigationLink(row.value.name) { RoomView(room: reference.child(row.id)) }
        }
        .onDelete { places in
          for place in places { reference.child(rooms.rows[place].id).enqueue(.remove) }
        }
        TextField("New room", text: $name)
          .onSubmit(add)
      }
      .navigationTitle("Rooms")
    }
  }

  private var reference: DatabaseReference { model.database.reference(withPath: "rooms") }

  /// It is shown at once; whether the server refuses it is heard by the database's `writeOutcomes`.
  private func add() {
    guard !name.isEmpty else { return }
    reference.childByAutoId().enqueue(.set(from: Room(name: name)))
    name = ""
  }
}

struct RoomListPreviews: PreviewProvider {
  /// With a database in memory, without a server.
  static var previews: some View { RoomList(model: AppModel(Database(.local(storage: .memory)))) }
}
